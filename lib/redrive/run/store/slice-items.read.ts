import { SKIPPED } from "@/lib/order/order.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { AdmissionMark } from "@/lib/states/admission-mark.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { SENDS } from "@/lib/states/state.sql";

/** SQL: the open items `i` of slices. */
const OF_SLICES = "i.slice between $2 and $3";

/** SQL: the redrive, if it may send. */
const SENDING = `(select r.id from redrives r where r.id = $1 and ${SENDS})`;

/**
 * Items whose time has come, then those that wait for nothing, in the order of their aggregates, behind the place where the last page
 * ended. What waits is not read: neither items that wait for a time, nor those behind an earlier event of their aggregate.
 */
const PAGE = `
with due as materialized (
  select i.id, i.slice, i.attempts, i.revision from open_items i
   where i.redrive_id = ${SENDING} and ${OF_SLICES} and i.not_before <= now() and i.source_id <> all($5::uuid[])
   order by i.slice, i.not_before, i.place, i.id
   limit $4
), ready as materialized (
  select i.id, i.slice, i.attempts, i.revision, i.place from open_items i
   where i.redrive_id = ${SENDING} and ${OF_SLICES} and i.not_before is null and i.source_id <> all($5::uuid[])
     and (i.slice, i.place, i.id) > ($6::int, $7::bigint, $8::uuid)
   order by i.slice, i.place, i.id
   limit $4 - (select count(*) from due)
)
select id, slice, attempts, revision, null as place from due
union all
select id, slice, attempts, revision, place::text from ready`;

/** The events of items. A statement of its own, which names their day: one that finds the items would look into each. */
const EVENTS = `
select e.id, e.source_id as "sourceId", s.name as source, e.event_id as "eventId", e.producer, e.aggregate_type as "aggregateType",
       e.aggregate_id as "aggregateId", e.version::text as version, e.error_code as "errorCode", e.fingerprint, e.status, e.redrives,
       e.failures, f.trace_id as "traceId", f.payload_bytes as "payloadBytes", e.admission, ${SKIPPED} as skipped,
       (extract(epoch from e.cooldown_until) * 1000)::float8 as "cooldownUntilMs"
  from dlq_events e
  left join dlq_event_facts f on f.id = e.id and f.id = any($1::uuid[]) and f.id between $2 and $3
  join sources s on s.id = e.source_id
 where e.id = any($1::uuid[]) and e.id between $2 and $3`;

type ItemRow = Pick<SliceItem, "id" | "slice" | "attempts" | "revision"> & { place: string | null };

/** The facts of its event in an item. */
type EventRow = Omit<SliceItem, keyof ItemRow | "redriveId" | "fence" | "version"> & {
  id: string;
  version: string | null;
};

/** One item of a slice that this worker owns, with the facts of its event that the gate and the send need. */
export type SliceItem = {
  /** The event's id. */
  id: string;
  redriveId: string;
  slice: number;
  /** The epoch of its slice: intents and ends of an earlier one are refused. */
  fence: bigint;
  /** Sends of this event within this redrive before. */
  attempts: number;
  /** The revision that was frozen: what is sent. */
  revision: number;
  /** A person has let the later versions of its aggregate pass by it. */
  skipped: boolean;
  sourceId: string;
  source: string;
  eventId: string;
  /** Within which the id is unique; '' = in the source. */
  producer: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: bigint | null;
  errorCode: string;
  fingerprint: string;
  status: EventStatus;
  redrives: number;
  failures: number;
  traceId: string | null;
  payloadBytes: number;
  cooldownUntilMs: number | null;
  admission: AdmissionMark | null;
};

/** Where a page has ended. */
export type SliceCursor = { slice: number; place: string; id: string };
export const SLICE_START: SliceCursor = { slice: -1, place: "0", id: "00000000-0000-0000-0000-000000000000" };

type PageRequest = {
  redriveId: string;
  /** Inclusive range of slices: one slice, or all of them for a canary. */
  slices: [first: number, last: number];
  epochs: ReadonlyMap<number, bigint>;
  after: SliceCursor;
  limit: number;
  /** Sources whose items are left out: their targets take no sends now. */
  withoutSources: readonly string[];
};

/** The next items that may be sent now, at most `limit`. None when the redrive does not run, is held or waits. */
export async function readSliceItems(
  db: Queryable,
  { redriveId, slices, epochs, after, limit, withoutSources }: PageRequest,
): Promise<{ items: SliceItem[]; after: SliceCursor }> {
  const values = [redriveId, ...slices, limit, withoutSources, after.slice, after.place, after.id];
  const rows = await db.query<ItemRow>(PAGE, values, { name: "slice-items" });
  if (rows.length === 0) return { items: [], after };
  const ids = rows.map(({ id }) => id);
  const events = await db.query<EventRow>(EVENTS, [ids, ...idSpan(ids)], { name: "events-of-items" });
  const eventOf = new Map(events.map((event) => [event.id, event]));
  const last = rows.findLast(({ place }) => place !== null);
  return {
    items: rows.flatMap(({ id, slice, attempts, revision }): SliceItem[] => {
      const event = eventOf.get(id);
      if (event === undefined) return [];
      const version = event.version === null ? null : BigInt(event.version);
      return [{ ...event, version, redriveId, slice, fence: epochs.get(slice)!, attempts, revision }];
    }),
    after: last ? { slice: last.slice, place: last.place!, id: last.id } : after,
  };
}

/** What is left of slices of which no item may be sent now. */
export type SliceRest = {
  /** Items wait for nothing: they were handed back, or their target takes no sends. */
  ready: boolean;
  /** Milliseconds until the time of the first item that waits for one, negative when it has come; null = none does. */
  dueMs: number | null;
  /** The same among the sources whose targets take sends. */
  sendableMs: number | null;
  /** Milliseconds until the hold of the redrive is over; null = it is. */
  holdMs: number | null;
};

/** SQL: the first time of the items `i` that match `which`: of each slice the first one in the index. */
const firstDue = (which: string) => `select min(first.not_before)
  from generate_series($2::int, $3::int) n
 cross join lateral (
   select i.not_before from open_items i
    where i.redrive_id = $1 and i.slice = n and i.not_before < 'infinity' and ${which}
    order by i.not_before limit 1) first`;

/** `withoutSources`: those whose targets take no sends now. */
export async function readSliceRest(
  db: Queryable,
  { redriveId, slices, withoutSources }: Pick<PageRequest, "redriveId" | "slices" | "withoutSources">,
): Promise<SliceRest> {
  const inMs = (time: string) => `(extract(epoch from (${time}) - now()) * 1000)::float8`;
  const [row] = await db.query<SliceRest>(
    `select exists (select 1 from open_items i where i.redrive_id = $1 and ${OF_SLICES} and i.not_before is null) as ready,
            ${inMs(firstDue("true"))} as "dueMs",
            ${inMs(firstDue("i.source_id <> all($4::uuid[])"))} as "sendableMs",
            ${inMs("select r.hold_until from redrives r where r.id = $1 and r.hold_until > now()")} as "holdMs"`,
    [redriveId, ...slices, withoutSources],
    { name: "slice-rest" },
  );
  return row!;
}

/**
 * How many more items a canary allows now: its step, less the events that were delivered and did not come back. One job works the
 * redrive, and asks when nothing of it is under way. null = no canary limits the redrive.
 */
export async function canaryAllowance(db: Queryable, redriveId: string): Promise<number | null> {
  const [row] = await db.query<{ released: number | null; sent: number }>(
    "select released, delivered - bounced as sent from redrives where id = $1",
    [redriveId],
    { name: "canary-allowance" },
  );
  if (!row || row.released === null) return null;
  return Math.max(row.released - row.sent, 0);
}
