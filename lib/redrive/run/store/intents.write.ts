import { stopOver } from "@/lib/guard/stops/stop.sql";
import { processedOf } from "@/lib/order/aggregate-order.read";
import { CONTROL_COVERS, IN_FORCE } from "@/lib/order/controls/control.sql";
import { inLine, LAST_PLACE } from "@/lib/order/line.sql";
import type { Clock } from "@/lib/platform/clock";
import { columnsOf } from "@/lib/platform/database/columns";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ownedItem, ownedItems } from "@/lib/states/fence.write";
import { ATTEMPT, ITEM, SENDS, UNSENT } from "@/lib/states/state.sql";

/** One send about to be made. */
export type AttemptIntent = {
  id: string;
  redriveId: string;
  slice: number;
  fence: bigint;
  attempt: number;
  /** Name of the target. */
  target: string;
  targetId: string;
  revision: number;
  idempotencyKey: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
  source: string;
  sourceId: string;
  producer: string;
  version: bigint | null;
  /** Its redrive sends ahead of parked versions. */
  passes: boolean;
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
 * SQL: an event that counts comes before `w` in the line of its aggregate `n`: an open one; a parked one of an earlier version, above the
 * processed version; or any that cools down. In a redrive that passes, a parked one counts that failed or bounced in it.
 */
const BEHIND = `(
      exists (select from aggregate_lines l where ${inLine("l", "n", "open")} and (l.place, l.id) < (w.place, w.id))
   or exists (select from aggregate_lines l
               where ${inLine("l", "n", "parked")} and l.place >= d.first and (l.place, l.id) < (w.place, w.id)
                 and ((l.place < w.place and w.place < ${LAST_PLACE}) or l.cooldown_until > now())
                 and (not w.passes or exists (
                       select from redrive_items i
                        where i.id = l.id and i.redrive_id = w.redrive_id and i.state in (${ITEM.failed}, ${ITEM.delivered})))))`;

/** SQL: the item of `w` was taken out of its redrive, or its slice was given up: whoever did so did not wait for the send. */
const TAKEN = `not exists (
  select from open_items i join slice_owners o on o.redrive_id = w.redrive_id and o.slice = w.slice and o.epoch = w.fence
   where ${ownedItem("w.redrive_id")})`;

/** SQL: the consumer of `w` has processed it, or a newer version of its aggregate. */
const PROCESSED = `(w.version < d.processed or exists (
  select from processed_events p where p.event_id = w.event_id and p.source_id = w.source_id and p.producer = w.producer))`;

/**
 * Records the intents: an event is in the wave only while its item is open and its slice is ours. A wave has events of many redrives, and
 * does not wait where a transaction takes items out of a slice: those of that slice are not recorded, and are handed back.
 */
const INTEND = `
with w as materialized (
  select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[], $5::text[], $6::text[], $7::uuid[], $8::int[], $9::int[])
    as w(id, redrive_id, fence, attempt, target, idempotency_key, target_id, revision, slice)
)${ownedItems("w.redrive_id", "skip")}, intended as materialized (
  select w.* from held w
   where exists (select from open_items i where ${ownedItem("w.redrive_id")})
     and ((w.attempt = 1 and w.fence = 1) or not exists (
           select from redrive_attempts a where a.id = w.id and a.redrive_id = w.redrive_id and a.attempt = w.attempt))
), wave as (
  insert into send_intents (wave, opened_at, ids, redrive_ids, attempts, fences, revisions, targets, target_ids, keys)
  select $10::uuid, clock_timestamp(), array_agg(id), array_agg(redrive_id), array_agg(attempt), array_agg(fence), array_agg(revision),
         array_agg(target), array_agg(target_id), array_agg(idempotency_key)
    from intended having count(*) > 0
  returning opened_at
), ended as (
  delete from send_intents where wave = any($11::uuid[])
)
select w.id, w.attempt, w.fence, (extract(epoch from wave.opened_at) * 1000)::float8 as "openedAtMs" from intended w cross join wave`;

/**
 * The last gate, asked once every transaction can see the intents. Whoever stops commits and then reads the open intents; whoever sends
 * commits intents and then asks this: whichever commits last, one of the two reads finds the other. An intent whose event is stopped, held
 * or processed is taken back: nothing was sent.
 */
const LOOK = `
with opened as (
  select *, coalesce(version, ${LAST_PLACE}) as place
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                $8::boolean[], $9::uuid[], $10::uuid[], $11::bigint[], $12::text[], $13::boolean[], $14::int[], $15::bigint[])
    as w(id, redrive_id, event_id, aggregate_type, aggregate_id, error_code, source, whitelisted, target_id, source_id, version, producer,
         passes, slice, fence)
)
select w.id
  from opened w
 cross join lateral (select w.source_id, w.aggregate_id, coalesce(w.aggregate_type, '') as aggregate_type) n
 ${processedOf("n")}
 where ${TAKEN} or ${STOPPED} or ${BEHIND} or ${PROCESSED}`;

/**
 * A send begins within this time of the question to LOOK. Whoever stops sends answers when none is under way, or after two seconds
 * (`await-open-sends.ts`): also a worker that stood still begins none after the answer.
 */
export const BEGIN_MS_MAX = 1_500;

export type Intent = {
  /** When it was recorded, epoch ms of the store's clock. */
  openedAtMs: number;
  /** When it was asked whether it may be sent, monotonic ms of this process. */
  lookedMs: number;
  /** `open`: its sends that have not ended. */
  wave: { id: string; open: number };
};

/** Intents that were committed together. */
type Wave = {
  id: string;
  /** When, epoch ms of the store's clock. */
  openedAtMs: number;
  /** When it was asked what may be sent, monotonic ms of this process. */
  lookedMs: number;
  /** The keys (`attemptKey`) of those that may be sent. */
  opened: Set<string>;
};

/**
 * Records intents as the wave `id`; returns those that may be sent. One whose number is taken is denied. Throws DomainError
 * `read-timeout` when the answer came too late for any of them: then nothing of the wave may be sent.
 *
 * @param ended waves of this process whose sends have all ended: their rows leave
 */
export async function openIntents(
  { db, clock }: { db: Queryable; clock: Pick<Clock, "nowMs"> },
  intents: readonly AttemptIntent[],
  { id, ended }: { id: string; ended: readonly string[] },
): Promise<Wave> {
  const rows = await db.query<{ id: string; attempt: number; fence: number | string; openedAtMs: number }>(
    INTEND,
    [
      ...columnsOf(intents, "id", "redriveId", "fence", "attempt", "target", "idempotencyKey", "targetId"),
      ...columnsOf(intents, "revision", "slice"),
      id,
      ended,
    ],
    { name: "open-intents" },
  );
  const opened = new Set(rows.map(attemptKey));
  const openedAtMs = rows[0]?.openedAtMs ?? 0;
  const lookedMs = clock.nowMs();
  if (opened.size === 0) return { id, openedAtMs, lookedMs, opened };
  const recorded = intents.filter((intent) => opened.has(attemptKey(intent)));
  const stopped = await deniedAmong(db, recorded);
  const left = recorded.filter((intent) => !stopped.has(intent.id));
  if (clock.nowMs() - lookedMs > BEGIN_MS_MAX) throw new DomainError("read-timeout", "LOOK was answered too late");
  if (stopped.size > 0) await leaveIn(db, id, left);
  return { id, openedAtMs, lookedMs, opened: new Set(left.map(attemptKey)) };
}

/** The ids of the events that may not be sent any more. Of one item at most one intent was recorded. */
async function deniedAmong(db: Queryable, intents: readonly AttemptIntent[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    LOOK,
    [
      ...columnsOf(intents, "id", "redriveId", "eventId", "aggregateType", "aggregateId", "errorCode", "source"),
      ...columnsOf(intents, "whitelisted", "targetId", "sourceId", "version", "producer", "passes", "slice", "fence"),
    ],
    { name: "look" },
  );
  return new Set(rows.map((row) => row.id));
}

/** Takes all other intents out of a wave. */
async function leaveIn(db: Queryable, wave: string, intents: readonly AttemptIntent[]): Promise<void> {
  if (intents.length === 0) {
    await db.run("delete from send_intents where wave = $1", [wave]);
    return;
  }
  await db.run(
    `update send_intents
        set ids = $2, redrive_ids = $3, attempts = $4, fences = $5, revisions = $6, targets = $7, target_ids = $8, keys = $9
      where wave = $1`,
    [
      wave,
      ...columnsOf(intents, "id", "redriveId", "attempt", "fence", "revision", "target", "targetId", "idempotencyKey"),
    ],
  );
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

/** The attempts of an item that have ended. */
type EarlierAttempts = {
  /** The highest number. */
  attempt: number;
  /** One of them was sent, or may have been. */
  sent: boolean;
  /** How many found no target, or were stopped before they were sent. */
  unreached: number;
};

/** Of an attempt whose worker was lost before it reported an end. */
export const LOST_CODE = "WORKER_LOST";
const LOST_DETAIL = "the worker stopped between send and mark: it may have been delivered";

/** SQL: makes the open sends `o` that match `which` ambiguous attempts: their worker will not report an end. */
export function endAsLost(which: string): string {
  return `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, target_id, idempotency_key, revision, opened_at,
                                closed_at, code, detail)
  select o.id, o.redrive_id, o.attempt, o.fence, ${ATTEMPT.ambiguous}, o.target, o.target_id, o.idempotency_key, o.revision, o.opened_at,
         now(), '${LOST_CODE}', '${LOST_DETAIL}'
    from open_sends o where ${which}
  on conflict do nothing`;
}

/** An item without attempts on record is absent. */
export async function readEarlierAttempts(
  db: Queryable,
  redriveId: string,
  ids: readonly string[],
): Promise<Map<string, EarlierAttempts>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<EarlierAttempts & { id: string }>(
    `select a.id, max(a.attempt)::int as attempt, bool_or(not ${UNSENT}) as sent,
            count(*) filter (where a.decision->'verdict'->>'away' = 'true' or ${UNSENT})::int as unreached
       from redrive_attempts a where a.redrive_id = $1 and a.id = any($2::uuid[]) group by a.id`,
    [redriveId, ids],
    { name: "earlier-attempts" },
  );
  return new Map(rows.map(({ id, ...earlier }) => [id, earlier]));
}
