import { stopOver } from "@/lib/guard/stops/stop.sql";
import { CONTROL_COVERS, IN_FORCE } from "@/lib/order/controls/control.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { checked, heldItem } from "@/lib/redrive/run/store/fence.write";
import { ATTEMPT, SENDS } from "@/lib/redrive/states/state.sql";

/** One send about to be made. */
export type AttemptIntent = {
  id: string;
  redriveId: string;
  fence: bigint;
  attempt: number;
  /** Name of the target. */
  target: string;
  targetId: string;
  /** The revision that is sent. */
  revision: number;
  idempotencyKey: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
  source: string;
  /** A whitelist overrides an automatic blacklist, never a person's. */
  whitelisted: boolean;
};

/**
 * SQL: `w` must not be sent: its redrive does not run, is held or waits, its target is stopped, or a control refuses it.
 */
const STOPPED = `(
   not exists (select 1 from redrives r where r.id = w.redrive_id and ${SENDS})
   or exists (select 1 from stops s where ${stopOver("w.target_id")})
   or exists (
   select 1 from controls c
    where ${IN_FORCE}
      and (   (c.kind = 'blacklist' and (c.origin = 'person' or not w.whitelisted))
           or (c.kind = 'cooldown' and not w.whitelisted))
      and ${CONTROL_COVERS}))`;

/**
 * The last gate, in the statement that records the intent: a row is written only while nothing stops the event, the
 * item is open and the fence is ours. `for share` waits for a transaction that takes the item out meanwhile, and then
 * sees that the item is gone. The items are locked in the order of their ids, as ignoring and cancelling do.
 */
const OPEN = `
with want as (
  select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $9::text[], $10::text[], $11::text[], $12::boolean[], $13::uuid[], $14::int[])
    as w(id, redrive_id, fence, attempt, target, idempotency_key, event_id, aggregate_type, aggregate_id, error_code,
         source, whitelisted, target_id, revision)
), held as materialized (
  select w.* from (select * from want order by id, redrive_id) w
   cross join lateral (select from redrive_items i where ${heldItem("w.redrive_id")} for share of i) held
)
insert into redrive_attempts (id, redrive_id, attempt, fence, target, target_id, idempotency_key, revision, opened_at)
select w.id, w.redrive_id, w.attempt, w.fence, w.target, w.target_id, w.idempotency_key, w.revision, clock_timestamp()
  from held w
 where not ${STOPPED}
on conflict (id, redrive_id, attempt) do nothing
returning id, attempt, fence`;

/**
 * The second check, once every transaction can see the intents. A stop commits and then reads the open intents; an
 * intent commits and then reads the stops: whichever commits last, one of the two reads finds the other. An intent that
 * a stop overtook is taken back: nothing was sent.
 */
const LOOK_AGAIN = `
with opened as (
  select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $9::boolean[], $10::uuid[])
    as w(id, redrive_id, attempt, event_id, aggregate_type, aggregate_id, error_code, source, whitelisted, target_id)
)
select w.id, w.attempt from opened w where ${STOPPED}`;

/**
 * Records intents; returns the keys (`attemptKey`) of those that may be sent. Two intents of one call may be of the same item:
 * a worker whose claim ended may have claimed it again, and the intent of its old claim is then denied.
 */
export async function openAttempts(db: Queryable, intents: readonly AttemptIntent[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string; attempt: number; fence: number | string }>(
    OPEN,
    [
      intents.map((intent) => intent.id),
      intents.map((intent) => intent.redriveId),
      intents.map((intent) => intent.fence.toString()),
      intents.map((intent) => intent.attempt),
      intents.map((intent) => intent.target),
      intents.map((intent) => intent.idempotencyKey),
      intents.map((intent) => intent.eventId),
      intents.map((intent) => intent.aggregateType),
      intents.map((intent) => intent.aggregateId),
      intents.map((intent) => intent.errorCode),
      intents.map((intent) => intent.source),
      intents.map((intent) => intent.whitelisted),
      intents.map((intent) => intent.targetId),
      intents.map((intent) => intent.revision),
    ],
    { name: "open-attempts" },
  );
  const opened = new Set(rows.map(attemptKey));
  if (opened.size === 0) return opened;
  const stopped = await takeBackStopped(
    db,
    intents.filter((intent) => opened.has(attemptKey(intent))),
  );
  for (const key of stopped) opened.delete(key);
  return opened;
}

/** Returns the keys of those that were taken back. */
async function takeBackStopped(db: Queryable, intents: readonly AttemptIntent[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string; attempt: number }>(
    LOOK_AGAIN,
    [
      intents.map((intent) => intent.id),
      intents.map((intent) => intent.redriveId),
      intents.map((intent) => intent.attempt),
      intents.map((intent) => intent.eventId),
      intents.map((intent) => intent.aggregateType),
      intents.map((intent) => intent.aggregateId),
      intents.map((intent) => intent.errorCode),
      intents.map((intent) => intent.source),
      intents.map((intent) => intent.whitelisted),
      intents.map((intent) => intent.targetId),
    ],
    { name: "look-again" },
  );
  const ids = new Set(rows.map((row) => row.id));
  // Of one item at most one intent was opened.
  const stopped = intents.filter(({ id }) => ids.has(id));
  if (stopped.length > 0) await takeBack(db, stopped);
  return new Set(stopped.map(attemptKey));
}

async function takeBack(db: Queryable, intents: readonly AttemptIntent[]): Promise<void> {
  await db.run(
    `delete from redrive_attempts a
      using unnest($1::uuid[], $2::uuid[], $3::int[], $4::bigint[]) as w(id, redrive_id, attempt, fence)
      where a.id = any($1::uuid[]) and a.id = w.id and ${checked("a.redrive_id", "w.redrive_id")}
        and a.attempt = w.attempt and a.fence = w.fence and ${checked("a.state", ATTEMPT.open)}`,
    [
      intents.map((intent) => intent.id),
      intents.map((intent) => intent.redriveId),
      intents.map((intent) => intent.attempt),
      intents.map((intent) => intent.fence.toString()),
    ],
  );
}

export function attemptKey(row: { id: string; attempt: number; fence: bigint | number | string }): string {
  return `${row.id}#${row.attempt}#${row.fence}`;
}

/** What earlier claims of an item did in its redrive. */
type EarlierAttempts = {
  /** The highest number. */
  attempt: number;
  /** The code of a delivery that is on record although the claim was lost before the item was closed; null = none is. */
  delivered: string | null;
  /** How many found no target, or were stopped before they were sent. */
  unreached: number;
};

/** Codes of attempts that were stopped between their intent and their send. */
const UNSENT = ["CANCELLED", "BREAKER_OPEN"];

/** SQL: the end of an attempt whose worker will not report one. */
export const WORKER_LOST = `state = ${ATTEMPT.ambiguous}, closed_at = now(), code = 'WORKER_LOST',
  detail = 'the worker stopped between send and mark: it may have been delivered'`;

/**
 * An attempt that is open under an older fence was cut off between intent and end: the target may have received it. It
 * is marked ambiguous; the next attempt repeats with the same idempotency key. An item without earlier attempts is absent.
 */
export async function markAmbiguous(
  db: Queryable,
  redriveId: string,
  items: readonly { id: string; fence: bigint }[],
): Promise<Map<string, EarlierAttempts>> {
  if (items.length === 0) return new Map();
  const values = [redriveId, items.map((item) => item.id), items.map((item) => item.fence.toString())];
  await db.query(
    `update redrive_attempts a set ${WORKER_LOST}
       from unnest($2::uuid[], $3::bigint[]) as w(id, fence)
      where a.id = w.id and a.redrive_id = $1 and a.state = ${ATTEMPT.open} and a.fence < w.fence`,
    values,
  );
  const rows = await db.query<EarlierAttempts & { id: string }>(
    `select a.id, max(a.attempt)::int as attempt, max(a.code) filter (where a.state = ${ATTEMPT.delivered}) as delivered,
            count(*) filter (where a.decision->'verdict'->>'away' = 'true'
                                or (a.state = ${ATTEMPT.failed} and a.code = any($3::text[])))::int as unreached
       from redrive_attempts a where a.redrive_id = $1 and a.id = any($2::uuid[]) group by a.id`,
    [...values.slice(0, 2), UNSENT],
  );
  return new Map(rows.map(({ id, ...earlier }) => [id, earlier]));
}
