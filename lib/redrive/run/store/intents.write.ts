import { stopOver } from "@/lib/guard/stops/stop.sql";
import { CONTROL_COVERS, IN_FORCE } from "@/lib/order/controls/control.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { heldItem } from "@/lib/redrive/run/store/fence.write";
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
 * The last gate, in the statement that records the intents: an event is in the wave only while nothing stops it, its
 * item is open and the fence is ours. `for share` waits for a transaction that takes the item out meanwhile, and then
 * sees that the item is gone. The items are locked in the order of their ids, as ignoring and cancelling do.
 */
const INTEND = `
with want as (
  select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[],
                       $9::text[], $10::text[], $11::text[], $12::boolean[], $13::uuid[], $14::int[])
    as w(id, redrive_id, fence, attempt, target, idempotency_key, event_id, aggregate_type, aggregate_id, error_code,
         source, whitelisted, target_id, revision)
), held as materialized (
  select w.* from (select * from want order by id, redrive_id) w
   cross join lateral (select from redrive_items i where ${heldItem("w.redrive_id")} for share of i) held
), intended as materialized (
  select w.* from held w
   where not ${STOPPED}
     and (w.fence = 1 or not exists (
           select from redrive_attempts a where a.id = w.id and a.redrive_id = w.redrive_id and a.attempt = w.attempt))
), wave as (
  insert into send_intents (wave, opened_at, ids, redrive_ids, attempts, fences, revisions, targets, target_ids, keys)
  select $15::uuid, clock_timestamp(), array_agg(id), array_agg(redrive_id), array_agg(attempt), array_agg(fence), array_agg(revision),
         array_agg(target), array_agg(target_id), array_agg(idempotency_key)
    from intended having count(*) > 0
  returning opened_at
), ended as (
  delete from send_intents where wave = any($16::uuid[])
)
select w.id, w.attempt, w.fence, (extract(epoch from wave.opened_at) * 1000)::float8 as "openedAtMs" from intended w cross join wave`;

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

/** Intents that were committed together. */
export type Wave = {
  id: string;
  /** When, epoch ms of the store's clock. */
  openedAtMs: number;
  /** The keys (`attemptKey`) of those that may be sent. */
  opened: Set<string>;
};

/**
 * Records intents as the wave `id`; returns those that may be sent. One whose number is taken is denied. Two intents of one call may be of the same item: a worker
 * whose claim ended may have claimed it again, and the intent of its old claim is then denied.
 *
 * @param ended waves of this process whose sends have all ended: their rows leave
 */
export async function openIntents(
  db: Queryable,
  intents: readonly AttemptIntent[],
  { id, ended }: { id: string; ended: readonly string[] },
): Promise<Wave> {
  const rows = await db.query<{ id: string; attempt: number; fence: number | string; openedAtMs: number }>(
    INTEND,
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
      id,
      ended,
    ],
    { name: "open-intents" },
  );
  const opened = new Set(rows.map(attemptKey));
  const openedAtMs = rows[0]?.openedAtMs ?? 0;
  if (opened.size === 0) return { id, openedAtMs, opened };
  const recorded = intents.filter((intent) => opened.has(attemptKey(intent)));
  const stopped = await stoppedAmong(db, recorded);
  const left = recorded.filter((intent) => !stopped.has(intent.id));
  if (stopped.size > 0) await leaveIn(db, id, left);
  return { id, openedAtMs, opened: new Set(left.map(attemptKey)) };
}

/** The ids of the events that a stop has overtaken. Of one item at most one intent was recorded. */
async function stoppedAmong(db: Queryable, intents: readonly AttemptIntent[]): Promise<Set<string>> {
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
  return new Set(rows.map((row) => row.id));
}

/** Takes all other intents out of a wave. */
async function leaveIn(db: Queryable, wave: string, intents: readonly AttemptIntent[]): Promise<void> {
  if (intents.length === 0) return endWaves(db, [wave]);
  await db.run(
    `update send_intents
        set ids = $2, redrive_ids = $3, attempts = $4, fences = $5, revisions = $6, targets = $7, target_ids = $8, keys = $9
      where wave = $1`,
    [
      wave,
      intents.map((intent) => intent.id),
      intents.map((intent) => intent.redriveId),
      intents.map((intent) => intent.attempt),
      intents.map((intent) => intent.fence.toString()),
      intents.map((intent) => intent.revision),
      intents.map((intent) => intent.target),
      intents.map((intent) => intent.targetId),
      intents.map((intent) => intent.idempotencyKey),
    ],
  );
}

/** Removes waves whose sends have all ended. */
export async function endWaves(db: Queryable, waves: readonly string[]): Promise<void> {
  if (waves.length > 0) await db.run("delete from send_intents where wave = any($1::uuid[])", [waves]);
}

/** Removes the waves without an open send that their worker did not remove: it was lost, or could not end one of its sends. */
export async function removeOldWaves(db: Queryable): Promise<void> {
  await db.run(
    `delete from send_intents s
      where s.opened_at < now() - interval '1 minute'
        and not exists (select from open_sends o where o.id = any(s.ids) and o.opened_at = s.opened_at)`,
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

const LOST_DETAIL = "the worker stopped between send and mark: it may have been delivered";

/** SQL: makes the open sends `o` that match `which` ambiguous attempts: their worker will not report an end. */
export function endAsLost(which: string): string {
  return `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, target_id, idempotency_key, revision, opened_at,
                                closed_at, code, detail)
  select o.id, o.redrive_id, o.attempt, o.fence, ${ATTEMPT.ambiguous}, o.target, o.target_id, o.idempotency_key, o.revision, o.opened_at,
         now(), 'WORKER_LOST', '${LOST_DETAIL}'
    from open_sends o where ${which}
  on conflict do nothing`;
}

/**
 * A send that is open under an older fence was cut off between intent and end: the target may have received it. It
 * becomes an ambiguous attempt; the next attempt repeats with the same idempotency key. An item without earlier attempts is
 * absent.
 */
export async function markAmbiguous(
  db: Queryable,
  redriveId: string,
  items: readonly { id: string; fence: bigint }[],
): Promise<Map<string, EarlierAttempts>> {
  if (items.length === 0) return new Map();
  const ids = items.map((item) => item.id);
  await db.run(
    endAsLost(
      "o.redrive_id = $1 and exists (select from unnest($2::uuid[], $3::bigint[]) as w(id, fence) where w.id = o.id and o.fence < w.fence)",
    ),
    [redriveId, ids, items.map((item) => item.fence.toString())],
    { name: "mark-ambiguous" },
  );
  const rows = await db.query<EarlierAttempts & { id: string }>(
    `select a.id, max(a.attempt)::int as attempt, max(a.code) filter (where a.state = ${ATTEMPT.delivered}) as delivered,
            count(*) filter (where a.decision->'verdict'->>'away' = 'true'
                                or (a.state = ${ATTEMPT.failed} and a.code = any($3::text[])))::int as unreached
       from redrive_attempts a where a.redrive_id = $1 and a.id = any($2::uuid[]) group by a.id`,
    [redriveId, ids, UNSENT],
  );
  return new Map(rows.map(({ id, ...earlier }) => [id, earlier]));
}
