import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AggregateName } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { inLine, LAST_PLACE } from "@/lib/order/line.sql";
import { SKIP_IN_FORCE } from "@/lib/order/order.sql";
import { headReason } from "@/lib/order/order-gate.pure";
import { TAIL_MAX, type TailOut } from "@/lib/order/tails/tails.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";
import { unknownEvent } from "@/lib/states/unknown.pure";

export type TailEvent = Omit<AggregateName, "aggregateId"> & {
  aggregateId: string | null;
  source: string;
  eventId: string;
  version: number | string | null;
  status: EventStatus;
  revision: number;
  bounces: number;
  skipped: boolean;
};

/** An event and its place in its aggregate. Throws DomainError `unknown-event`. */
export async function readTailEvent(db: Queryable, viewer: Viewer, id: string): Promise<TailEvent> {
  const [row] = await db.query<TailEvent>(
    `select e.source_id as "sourceId", coalesce(e.aggregate_type, '') as "aggregateType", e.aggregate_id as "aggregateId",
            s.name as source, e.event_id as "eventId", e.version, e.status, e.revision, e.bounces,
            exists (select 1 from skipped_heads k where ${SKIP_IN_FORCE}) as skipped
       from dlq_events e join sources s on s.id = e.source_id
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer)],
    { name: "tail-event" },
  );
  if (!row) throw unknownEvent(id);
  return row;
}

/** Those of these events that somebody has skipped. */
export async function skippedAmong(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_events e join skipped_heads k on ${SKIP_IN_FORCE} where e.id = any($1::uuid[])`,
    [ids],
    { name: "skipped-among" },
  );
  return new Set(rows.map(({ id }) => id));
}

const NO_TAIL: TailOut = { head: null, why: null, skipped: [], held: { count: 0, events: [] } };

type MemberRow = TailOut["skipped"][number] & NonNullable<TailOut["head"]> & { n: number };

/** The head of an event's aggregate and the events that it holds. Throws DomainError `unknown-event`. */
export async function readTail(db: Queryable, viewer: Viewer, id: string): Promise<TailOut> {
  const event = await readTailEvent(db, viewer, id);
  const { sourceId, aggregateType, aggregateId } = event;
  if (aggregateId === null) return NO_TAIL;
  const name = { sourceId, aggregateType, aggregateId };
  const [order] = (await readAggregateOrder(db, [name], null)).values();
  const { versionProcessed } = order!;
  const [first] = order!.heads;
  const values = [sourceId, aggregateType, aggregateId];
  const parked = await db.query<MemberRow>(
    `select e.id, e.event_id as "eventId", e.version, e.error_code as "errorCode", e.status, e.bounces, e.failures,
            e.cooldown_until as "cooldownUntil", k.reason, k.created_by as "createdBy", k.created_at as "createdAt"
       from (values ($1::uuid, $2::text, $3::text)) as w(source_id, aggregate_type, aggregate_id)
      cross join lateral (
        select array(select l.id from aggregate_lines l
                      where ${inLine("l", "w", "skipped")} and ($4::bigint is null or l.place > $4)
                      order by l.place, l.id limit ${TAIL_MAX}) as ids) skipped
       join dlq_events e on e.id = any(skipped.ids || $5::uuid)
       left join skipped_heads k on ${SKIP_IN_FORCE}
      order by e.version, e.id limit ${TAIL_MAX}`,
    [...values, versionProcessed?.toString() ?? null, first?.id ?? null],
    { isoTimes: true },
  );
  const head = parked.find((row) => row.id === first?.id) ?? null;
  const skipped = parked.filter((row) => row.id !== first?.id);
  const from = head ?? skipped[0] ?? null;
  const held = from === null ? [] : await readHeld(db, [...values, from.version]);
  return {
    head: head && headOut(head),
    why: head && headReason({ ...head, cooling: order!.cooling.some((each) => each.id === head.id) }),
    skipped: await withShownReasons(db, viewer, skipped.map(skippedOut)),
    held: { count: held[0]?.n ?? 0, events: held.map(placeOut) },
  };
}

function readHeld(db: Queryable, values: unknown[]): Promise<MemberRow[]> {
  return db.query<MemberRow>(
    `select e.id, e.event_id as "eventId", e.version, e.error_code as "errorCode", count(*) over ()::int as n
       from (values ($1::uuid, $2::text, $3::text)) as w(source_id, aggregate_type, aggregate_id)
       join aggregate_lines l on ${inLine("l", "w", "parked")} and l.place > $4::bigint and l.place < ${LAST_PLACE}
       join dlq_events e on e.id = l.id and e.status = ${EVENT.PENDING}
      order by e.version, e.id limit ${TAIL_MAX}`,
    values,
  );
}

const placeOut = ({ id, eventId, version, errorCode }: MemberRow) => ({ id, eventId, version, errorCode });

function headOut(row: MemberRow): NonNullable<TailOut["head"]> {
  const { status, bounces, failures, cooldownUntil } = row;
  return { ...placeOut(row), status, bounces, failures, cooldownUntil };
}

function skippedOut(row: MemberRow): TailOut["skipped"][number] {
  const { status, reason, createdBy, createdAt } = row;
  return { ...placeOut(row), status, reason, createdBy, createdAt };
}
