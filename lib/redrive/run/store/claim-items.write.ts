import type { EventStatus } from "@/lib/events/event-state.pure";
import type { AdmissionMark } from "@/lib/intake/admission/admission.pure";
import { inLine } from "@/lib/order/line.sql";
import { PLACE, SKIPPED } from "@/lib/order/order.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { checked, lockedItem, lockedItems } from "@/lib/redrive/run/store/fence.write";
import { ITEM, SENDS } from "@/lib/redrive/states/state.sql";

/**
 * The number of open items of a slice that a claim reads. The window is a prefix of the slice's order, so an item that
 * blocks an aggregate within this redrive is always inside it; a very large aggregate costs one window for each claim,
 * not a scan.
 */
const CLAIM_WINDOW = 400;

/** SQL: the open items `i` of slices, in the words of the index `redrive_items_claim`. */
const OF_SLICES = `i.state = ${ITEM.open} and i.slice >= 0`;

/**
 * Place and id as one sortable text: PostgreSQL before 18 has no min() over records. An offset keeps the number
 * positive.
 */
function placeKey(place: string, id: string): string {
  return `lpad((${place}::numeric + 9223372036854775808)::text, 20, '0') || ${id}::text`;
}

/**
 * One statement: reads the head of the slice, leaves out the items that must wait (claimed, deferred, behind an earlier
 * item of another open redrive), locks the items, takes the leases of their aggregates, and claims with a new fence: items
 * before aggregates, as every transaction locks them. Two workers that
 * claim at the same time wait at the row locks: the second one re-checks, finds `claimed_until` in the future and skips
 * the row. It takes no item of an aggregate whose lease has changed since it was read, because the order that it read
 * is then out of date. No two leases end at the same time.
 */
const CLAIM = `
with head as materialized (
  select i.id, i.source_id, i.aggregate_type, i.aggregate_id, ${PLACE} as place,
         (i.claimed_until >= now() or i.not_before > now()) is true as waits
    from redrive_items i
   where i.redrive_id = (select r.id from redrives r where r.id = $1 and ${SENDS}) and i.slice between $2 and $3 and ${OF_SLICES} and i.source_id <> all($6::uuid[])
   order by i.slice, ${PLACE}, i.id
   limit ${CLAIM_WINDOW}
), spans as materialized (
  select source_id, aggregate_type, aggregate_id, max(place) as place, max(id::text)::uuid as id,
         min(${placeKey("place", "id")}) filter (where waits) as own_block
    from head where aggregate_id is not null
   group by source_id, aggregate_type, aggregate_id
), blocks as materialized (
  select s.source_id, s.aggregate_type, s.aggregate_id, s.own_block, other.block as other_block
    from spans s
    left join lateral (
      select ${placeKey("o.place", "o.id")} as block
        from aggregate_lines o
       where ${inLine("o", "s", "open")} and o.redrive_id <> $1 and (o.place, o.id) <= (s.place, s.id)
       order by o.place, o.id
       limit 1
    ) other on true
   where s.own_block is not null or other.block is not null
), ready as materialized (
  select h.id, h.source_id, h.aggregate_type, h.aggregate_id
    from head h
    left join blocks b on b.aggregate_id = h.aggregate_id and b.source_id = h.source_id
                      and b.aggregate_type = h.aggregate_type
   where not h.waits
     and (b.own_block is null or ${placeKey("h.place", "h.id")} < b.own_block)
     and (b.other_block is null or ${placeKey("h.place", "h.id")} < b.other_block)
   order by h.place, h.id
   limit $4
), seen as materialized (
  select a.source_id, a.aggregate_type, a.aggregate_id, a.lease_until
    from aggregates a
    join (select distinct source_id, aggregate_type, aggregate_id from ready where aggregate_id is not null) r
      on r.aggregate_id = a.aggregate_id and r.source_id = a.source_id and r.aggregate_type = a.aggregate_type
), locked as materialized (
  select i.id, r.source_id, r.aggregate_type, r.aggregate_id
    from ready r join redrive_items i on i.id = r.id and ${checked("i.redrive_id", "$1::uuid")} and ${checked("i.state", ITEM.open)}
   where i.claimed_until is null or i.claimed_until < now()
   order by i.id
     for no key update of i
), leased as (
  insert into aggregates (source_id, aggregate_type, aggregate_id, lease_redrive, lease_slice, lease_until)
  select distinct source_id, aggregate_type, aggregate_id, $1::uuid, $2::int, now() + make_interval(secs => $5)
    from locked where aggregate_id is not null order by aggregate_id, source_id, aggregate_type
  on conflict (aggregate_id, source_id, aggregate_type) do update
     set lease_redrive = excluded.lease_redrive, lease_slice = excluded.lease_slice, lease_until = excluded.lease_until
   where (aggregates.lease_until is null or aggregates.lease_until < now()
          or (aggregates.lease_redrive = excluded.lease_redrive and aggregates.lease_slice = excluded.lease_slice))
     and aggregates.lease_until is not distinct from (
           select s.lease_until from seen s
            where s.aggregate_id = aggregates.aggregate_id and s.source_id = aggregates.source_id
              and s.aggregate_type = aggregates.aggregate_type)
  returning source_id, aggregate_type, aggregate_id
), claimed as (
  update redrive_items i
     set fence = i.fence + 1, claimed_until = now() + make_interval(secs => $5), claimed_by = $7::uuid
    from locked l
   where i.id = l.id and ${checked("i.redrive_id", "$1::uuid")} and ${checked("i.state", ITEM.open)}
     and (i.claimed_until is null or i.claimed_until < now())
     and (l.aggregate_id is null or exists (
           select 1 from leased a where a.source_id = l.source_id and a.aggregate_id = l.aggregate_id
                                             and a.aggregate_type = l.aggregate_type))
  returning i.id, i.fence, i.attempts, i.revision
)
select id, fence::text as fence, attempts, revision from claimed`;

/** The events of claimed items. A statement of its own, which names their day: one that claims them would look into each. */
const EVENTS = `
select e.id, e.source_id, s.name as source, e.event_id, e.producer, e.aggregate_type, e.aggregate_id, e.version::text as version, e.error_code,
       e.fingerprint, e.status, e.redrives, e.failures, f.trace_id, f.payload_bytes, e.admission, ${SKIPPED} as skipped,
       (extract(epoch from e.cooldown_until) * 1000)::float8 as cooldown_until_ms
  from dlq_events e
  left join dlq_event_facts f on f.id = e.id and f.id = any($1::uuid[]) and f.id between $2 and $3
  join sources s on s.id = e.source_id
 where e.id = any($1::uuid[]) and e.id between $2 and $3`;

type ClaimRow = { id: string; fence: string; attempts: number; revision: number };

type EventRow = {
  id: string;
  skipped: boolean;
  source_id: string;
  source: string;
  event_id: string;
  producer: string;
  aggregate_type: string | null;
  aggregate_id: string | null;
  version: string | null;
  error_code: string;
  fingerprint: string;
  status: EventStatus;
  redrives: number;
  failures: number;
  trace_id: string | null;
  payload_bytes: number;
  cooldown_until_ms: number | null;
  admission: AdmissionMark | null;
};

/** One claimed item, with the facts of its event that the gate and the send need. */
export type ClaimedItem = {
  /** The event's id. */
  id: string;
  redriveId: string;
  fence: bigint;
  /** Sends of this event within this redrive before this claim. */
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

export type ClaimRequest = {
  redriveId: string;
  /** Inclusive range of slices: one slice, or all of them for a canary. */
  slices: [first: number, last: number];
  limit: number;
  leaseMs: number;
  /** The worker that claims: the items of a lost worker are given back. */
  workerId?: string;
  /** Sources whose items are not claimed: their targets take no sends now. */
  withoutSources?: readonly string[];
};

/**
 * Allows one transaction at a time to claim for the canary of a redrive. An advisory lock and not the redrive's row: a
 * finish locks that row after its items, and a claim would lock it before them.
 */
export async function lockCanary(tx: Tx, redriveId: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('canary ' || $1, 0))", [redriveId]);
}

/**
 * Claims up to `limit` items that may be sent now. Empty when the redrive does not run, is held or waits, or all open
 * items wait.
 */
export async function claimItems(db: Queryable, request: ClaimRequest): Promise<ClaimedItem[]> {
  const claimed = await db.query<ClaimRow>(
    CLAIM,
    [
      request.redriveId,
      request.slices[0],
      request.slices[1],
      request.limit,
      request.leaseMs / 1000,
      request.withoutSources ?? [],
      request.workerId ?? null,
    ],
    { name: "claim-items" },
  );
  if (claimed.length === 0) return [];
  const ids = claimed.map(({ id }) => id);
  const events = await db.query<EventRow>(EVENTS, [ids, ...idSpan(ids)], { name: "events-of-claim" });
  const items = new Map(claimed.map((item) => [item.id, item]));
  return events.map((event) => claimedItem(request.redriveId, items.get(event.id)!, event));
}

function claimedItem(redriveId: string, { fence, attempts, revision }: ClaimRow, event: EventRow): ClaimedItem {
  return {
    id: event.id,
    redriveId,
    fence: BigInt(fence),
    attempts,
    revision,
    skipped: event.skipped,
    sourceId: event.source_id,
    source: event.source,
    eventId: event.event_id,
    producer: event.producer,
    aggregateType: event.aggregate_type,
    aggregateId: event.aggregate_id,
    version: event.version === null ? null : BigInt(event.version),
    errorCode: event.error_code,
    fingerprint: event.fingerprint,
    status: event.status,
    redrives: event.redrives,
    failures: event.failures,
    traceId: event.trace_id,
    payloadBytes: event.payload_bytes,
    cooldownUntilMs: event.cooldown_until_ms,
    admission: event.admission,
  };
}

/**
 * Extends the claims of items in work. Returns the ids that this worker still holds: the others were claimed by another
 * worker or closed.
 */
export async function renewClaims(db: Queryable, items: readonly ClaimedItem[], leaseMs: number): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `with w as materialized (select * from unnest($2::uuid[], $3::bigint[]) as w(id, fence))${lockedItems("$1::uuid")}, mine as (
       update redrive_items i set claimed_until = now() + make_interval(secs => $4)
         from locked w where ${lockedItem("$1::uuid")}
       returning i.id, i.source_id, i.aggregate_type, i.aggregate_id
     ), held as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id
         from aggregates a
         join (select distinct source_id, aggregate_type, aggregate_id from mine where aggregate_id is not null) m
           on a.aggregate_id = m.aggregate_id and a.source_id = m.source_id and a.aggregate_type = m.aggregate_type
          and a.lease_redrive = $1
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     ), leases as (
       update aggregates a set lease_until = now() + make_interval(secs => $4)
         from held h
        where a.source_id = h.source_id and a.aggregate_id = h.aggregate_id and a.aggregate_type = h.aggregate_type
     )
     select id from mine`,
    [items[0]!.redriveId, items.map((item) => item.id), items.map((item) => item.fence.toString()), leaseMs / 1000],
    { name: "renew-claims" },
  );
  return new Set(rows.map((row) => row.id));
}

/** A claimed item whose target asked for a pause. */
export type ItemHold = { id: string; redriveId: string; fence: bigint; waitMs: number };

/**
 * Stores the pause that a target asked for, on the store's clock: the next worker that claims the item waits at least
 * as long, even if its present holder is killed.
 */
export async function holdItems(db: Queryable, holds: readonly ItemHold[]): Promise<void> {
  if (holds.length === 0) return;
  await db.run(
    `with w as materialized (
       select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::float8[]) as w(id, redrive_id, fence, wait_ms)
     )${lockedItems("w.redrive_id")}
     update redrive_items i set not_before = now() + w.wait_ms * interval '1 ms'
       from locked w where ${lockedItem("w.redrive_id")}`,
    [
      holds.map((hold) => hold.id),
      holds.map((hold) => hold.redriveId),
      holds.map((hold) => hold.fence.toString()),
      holds.map((hold) => hold.waitMs),
    ],
    { name: "hold-items" },
  );
}

/** The remaining work in a range of slices, to decide whether and when the job runs again. */
type SliceRest = {
  open: number;
  /** Open items that nobody holds and that wait for no time: items of another redrive must be sent first. */
  blocked: number;
  /**
   * Milliseconds until the first item that nobody holds may be sent: after a deferral, or the hold; null = no item
   * waits for a time.
   */
  waitMs: number | null;
};

export async function sliceRest(db: Queryable, redriveId: string, slices: [number, number]): Promise<SliceRest> {
  const [row] = await db.query<{ open: number; blocked: number; wait_ms: number | null }>(
    `select count(*)::int as open, count(*) filter (where free and not timed)::int as blocked,
            min(extract(epoch from greatest(not_before, hold_until) - now())) filter (where free and timed)::float8 * 1000
              as wait_ms
       from (select i.not_before, hold.hold_until, coalesce(i.claimed_until < now(), true) as free,
                    coalesce(greatest(i.not_before, hold.hold_until) > now(), false) as timed
               from (select (select r.hold_until from redrives r where r.id = $1) as hold_until offset 0) hold, redrive_items i
              where i.redrive_id = $1 and i.slice between $2 and $3 and ${OF_SLICES}) item`,
    [redriveId, ...slices],
    { name: "slice-rest" },
  );
  return { open: row!.open, blocked: row!.blocked, waitMs: row!.wait_ms };
}
