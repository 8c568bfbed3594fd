import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import { followLines } from "@/lib/order/lines.write";
import type { Clock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { quietWindowOf } from "@/lib/redrive/confirm/confirm-quiet.write";
import { flowSql, rollupOf } from "@/lib/states/rollup.write";
import { EVENT, ITEM, REDRIVE } from "@/lib/states/state.sql";
import type { ParkedLetter } from "./letters";

/** The redrive that dealt with the payments: as a person requested it, and what became of it. */
const PAST = { source: "payments", errorCode: "RATE_LIMITED", by: "maria", reason: "the quota was raised at 09:40" };
const HOURS_AGO = 24;
const RATE_PER_SECOND = 1;
/** Of the sends, by their number: these failed, and these were delivered and bounced. */
const FAILED = [3, 8];
const BOUNCED = [5, 11];
const BOUNCE_MS = 4 * 60_000;
/** Quiet time after which a delivery counts as confirmed. */
const QUIET_MS = 10 * 60_000;

const FINDINGS = [
  { check: "payload-parses", ok: true, detail: "valid JSON" },
  { check: "target-reachable", ok: true, detail: "reachable" },
];

type Redriven = { id: string; eventId: string };
type End = { item: "delivered" | "failed"; flow: "redriven" | "failed"; code: string };

/** Writes its history at that time: items, attempts, states, counters, audit, bounces. */
export async function replayRedrive(db: Db, letters: readonly ParkedLetter[], nowMs: number): Promise<void> {
  const startMs = nowMs - HOURS_AGO * 3_600_000;
  const id = uuidv7(startMs);
  const events = await db.query<Redriven>(
    `select e.id, e.event_id as "eventId" from dlq_events e join sources s on s.id = e.source_id
      where s.name = $1 and e.error_code = $2 and e.status = ${EVENT.PENDING} order by e.id`,
    [PAST.source, PAST.errorCode],
  );
  if (events.length === 0) return;
  const endMs = startMs + 2_000 + (events.length / RATE_PER_SECOND) * 1_000;
  const failed = events.filter((_, nth) => FAILED.includes(nth));
  const delivered = events.filter((event) => !failed.includes(event));
  const bounced = events.filter((_, nth) => BOUNCED.includes(nth)).map(({ eventId }) => eventId);
  const quiet = delivered.filter(({ eventId }) => !bounced.includes(eventId));
  await db.transaction(async (tx) => {
    await request(tx, { id, events, startMs });
    await end(tx, id, delivered, { item: "delivered", flow: "redriven", code: "HTTP_200" }, endMs);
    await end(tx, id, failed, { item: "failed", flow: "failed", code: "HTTP_503" }, endMs);
    await finish(tx, { id, delivered: delivered.length, failed: failed.length, confirmed: quiet.length, endMs });
  });
  const arrivals = letters
    .filter(({ letter }) => bounced.includes(letter.eventId))
    .map(({ source, letter }) => ({ source, letter: { ...letter, redrive: { redriveId: id, attempt: 1 } } }));
  const viewer = systemViewer(`source:${PAST.source}`);
  await parkEvents({ db, clock: clockAt(endMs + BOUNCE_MS) }, arrivals, viewer);
  await db.transaction((tx) => confirm(tx, id, quiet, endMs + QUIET_MS));
}

async function request(
  tx: Tx,
  { id, events, startMs }: { id: string; events: readonly Redriven[]; startMs: number },
): Promise<void> {
  const selection = { filter: { source: [PAST.source], errorCode: [PAST.errorCode], status: ["PENDING"] } };
  await tx.run(
    `insert into redrives (id, state, mode, lane, rate_per_second, selection, cutoff, slices, total, created_by, reason,
                           created_at, planned_at, started_at)
     select $1, ${REDRIVE.RUNNING}, 'deliver', 'slow', $2, $3, $1, 1, $4, $5, $6, t, t, t + interval '1 s'
       from to_timestamp($7::float8 / 1000) t`,
    [id, RATE_PER_SECOND, selection, events.length, PAST.by, PAST.reason, startMs],
  );
  const audit = { actor: PAST.by, redriveId: id, reason: PAST.reason, atMs: startMs };
  const after = { mode: "deliver", lane: "slow", ratePerSecond: RATE_PER_SECOND, total: events.length };
  await appendAudit(tx, {
    ...{ ...audit, action: "redrive.requested", subjectKind: "redrive", subjectId: id },
    ...{ before: null, after, count: 1 },
  });
  await appendAudit(tx, {
    ...{ ...audit, action: "event.queued", subjectKind: "event", subjectId: null },
    ...{ before: { status: "PENDING" }, after: { status: "QUEUED" }, count: events.length },
    eventIds: events.map((event) => event.id),
  });
}

/** One outcome for a set of events: items, attempts, events, counters and audit, as the finish of a batch writes them. */
async function end(tx: Tx, redriveId: string, events: readonly Redriven[], { item, flow, code }: End, atMs: number) {
  const ids = events.map((event) => event.id);
  const result = item === "failed" ? code : null;
  const status = item === "failed" ? "PENDING" : "REDRIVEN";
  await tx.run(
    `insert into redrive_items (id, redrive_id, slice, source_id, aggregate_id, version, error_code, state, fence, attempts,
                                result, verdict, finished_at)
     select e.id, $2, 0, e.source_id, e.aggregate_id, e.version, e.error_code, $3, 1, 1, $4, $5::jsonb,
            to_timestamp($6::float8 / 1000)
       from dlq_events e where e.id = any($1::uuid[])`,
    [ids, redriveId, item, result, JSON.stringify(FINDINGS), atMs],
  );
  await tx.run(
    `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at, closed_at,
                                   latency_ms, code)
     select e.id, $2, 1, 1, $3, $4 || '.slow', $4 || ':' || e.event_id, t, t + interval '60 ms', 60, $6
       from dlq_events e, to_timestamp($5::float8 / 1000) t where e.id = any($1::uuid[])`,
    [ids, redriveId, item, PAST.source, atMs, code],
  );
  await tx.run(
    `with moved as (
       update dlq_events e set status = $2, last_operator = $3, redrives = e.redrives + 1, attempts = e.attempts + 1,
              failures = e.failures + case when $4 = ${ITEM.failed} then 1 else 0 end,
              last_attempt_at = to_timestamp($5::float8 / 1000),
              redrive_at = case when $2 = ${EVENT.REDRIVEN} then to_timestamp($5::float8 / 1000) else e.redrive_at end
        where e.id = any($1::uuid[])
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT.PENDING} as old_status, $2 as new_status
     )${rollupOf("moved", { flow: { kinds: `'{${flow}}'::text[]`, at: "to_timestamp($5::float8 / 1000)" } })}${quietWindowOf("moved", `new_status = ${EVENT.REDRIVEN}`, "to_timestamp($5::float8 / 1000)")}
     select id from moved`,
    [ids, status, PAST.by, item, atMs],
  );
  await followLines(tx, ids);
  if (result) await tx.run("update dlq_event_facts set last_error_code = $2 where id = any($1::uuid[])", [ids, result]);
  await appendAudit(tx, {
    ...{ actor: "worker", action: `event.${flow}`, subjectKind: "event", subjectId: null, redriveId },
    ...{ before: { status: "QUEUED" }, after: { status, ...(result === null ? {} : { result }) } },
    ...{ count: ids.length, atMs, eventIds: ids },
  });
}

type Finish = { id: string; delivered: number; failed: number; confirmed: number; endMs: number };

async function finish(tx: Tx, { id, delivered, failed, confirmed, endMs }: Finish): Promise<void> {
  await tx.run(
    `update redrives set state = ${REDRIVE.DONE}, delivered = $2, failed = $3, confirmed = $4, refused_by_reason = '{}',
            failed_by_reason = $5, finished_at = to_timestamp($6::float8 / 1000) where id = $1`,
    [id, delivered, failed, confirmed, { HTTP_503: failed }, endMs],
  );
  await appendAudit(tx, {
    ...{ actor: "worker", action: "redrive.finished", subjectKind: "redrive", subjectId: id, redriveId: id },
    ...{ before: { state: "RUNNING" }, after: { state: "DONE", delivered, failed, refused: 0 }, count: 1, atMs: endMs },
  });
}

async function confirm(tx: Tx, redriveId: string, events: readonly Redriven[], atMs: number): Promise<void> {
  const ids = events.map((event) => event.id);
  await tx.run(
    `with moved as (
       update dlq_events e set confirmed_at = to_timestamp($2::float8 / 1000), confirmed_redrive = $3 where e.id = any($1::uuid[])
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, e.status as old_status,
                 e.status as new_status
     )${rollupOf("moved", { flow: { kinds: flowSql("confirm"), at: "to_timestamp($2::float8 / 1000)" } })}
     select id from moved`,
    [ids, atMs, redriveId],
  );
  await raiseConfirmed(tx, ids);
  await appendAudit(tx, {
    ...{ actor: "worker", action: "event.confirmed", subjectKind: "event", subjectId: null, redriveId },
    ...{ reason: "no bounce within 600 s", before: { status: "REDRIVEN", confirmed: false } },
    ...{ after: { status: "REDRIVEN", confirmed: true }, count: ids.length, atMs, eventIds: ids },
  });
}

/** A clock that always shows the same moment of the past. */
export function clockAt(wallMs: number): Clock {
  const never = () => {
    throw new TypeError("the demo's past has no timers");
  };
  return { nowMs: () => wallMs, wallMs: () => wallMs, sleep: never, timer: never };
}
