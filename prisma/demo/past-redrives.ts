import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Arrival } from "@/lib/intake/arrival.shapes";
import { parkEvents } from "@/lib/intake/park-events";
import { flowSql, rollupOf } from "@/lib/observe/rollups/rollup.write";
import type { Clock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7, uuidv7LowerBound } from "@/lib/platform/ids";
import type { Finding } from "@/lib/redrive/list/redrive-items.shapes";
import { EVENT, ITEM, REDRIVE } from "@/lib/redrive/states/state.sql";
import type { Random } from "./random";

/** A redrive as an operator requested it, and its result. */
export type PastRedrive = {
  hoursAgo: number;
  source: string;
  errorCode: string;
  lane: "main" | "slow";
  ratePerSecond: number;
  by: string;
  reason: string;
  /** Maximum number of the events that were parked then. */
  limit: number;
  /** Share of the sends that failed, and of the deliveries that came back. */
  failing: number;
  bouncing: number;
  /** The refusals of the dry run, if any. */
  refuses?: Finding;
};

const HOUR_MS = 3_600_000;
/** Sends of one moment. */
const CHUNK = 40;
/** Quiet time after which a delivery counts as confirmed. */
const QUIET_MS = 10 * 60_000;

type World = { db: Db; random: Random; nowMs: number };
type ParkedEvent = {
  id: string;
  source_id: string;
  aggregate_id: string | null;
  version: string | null;
  error_code: string;
};

/** Writes the history of a redrive at that time: items, attempts, states, counters, audit, bounces. */
export async function replayRedrive(world: World, past: PastRedrive): Promise<void> {
  const startMs = world.nowMs - past.hoursAgo * HOUR_MS;
  const events = await world.db.query<ParkedEvent>(
    `select e.id, e.source_id, e.aggregate_id, e.version::text as version, e.error_code
       from dlq_events e join sources s on s.id = e.source_id
      where s.name = $1 and e.error_code = $2 and e.status = ${EVENT.PENDING} and e.id < $3 order by e.id limit $4`,
    [past.source, past.errorCode, uuidv7LowerBound(startMs), past.limit],
  );
  if (events.length === 0) return;
  const id = uuidv7(startMs);
  await world.db.transaction((tx) => request(tx, { id, startMs, past, events }));
  const run = { id, past, random: world.random, delivered: [] as string[], failed: 0 };
  let atMs = startMs + 2_000;
  for (let from = 0; from < events.length; from += CHUNK) {
    const chunk = events.slice(from, from + CHUNK);
    await world.db.transaction((tx) => (past.refuses ? refuse(tx, run, chunk, atMs) : send(tx, run, chunk, atMs)));
    atMs += (chunk.length / past.ratePerSecond) * 1_000;
  }
  const bounced = await bounceSome(world, run, atMs + 4 * 60_000);
  await confirmRest(world, run, bounced, Math.min(atMs + QUIET_MS, world.nowMs));
  await finish(world.db, run, { events: events.length, atMs });
}

type Run = { id: string; past: PastRedrive; random: Random; delivered: string[]; failed: number };

async function request(
  tx: Tx,
  { id, startMs, past, events }: { id: string; startMs: number; past: PastRedrive; events: ParkedEvent[] },
): Promise<void> {
  const filter = { source: [past.source], errorCode: [past.errorCode], status: ["PENDING"] };
  await tx.run(
    `insert into redrives (id, state, mode, lane, rate_per_second, selection, cutoff, slices, total, created_by, reason,
                           created_at, planned_at, started_at)
     select $1, ${REDRIVE.RUNNING}, 'deliver', $2, $3, $4, $1, $5, $6, $7, $8, t, t, t + interval '1 s'
       from to_timestamp($9::float8 / 1000) t`,
    [
      id,
      past.lane,
      past.ratePerSecond,
      { filter },
      Math.ceil(events.length / 64),
      events.length,
      past.by,
      past.reason,
      startMs,
    ],
  );
  const audit = { actor: past.by, redriveId: id, reason: past.reason, atMs: startMs };
  await appendAudit(tx, {
    ...audit,
    action: "redrive.requested",
    subjectKind: "redrive",
    subjectId: id,
    before: null,
    after: { mode: "deliver", lane: past.lane, ratePerSecond: past.ratePerSecond, total: events.length },
    count: 1,
  });
  await appendAudit(tx, {
    ...audit,
    action: "event.queued",
    subjectKind: "event",
    subjectId: null,
    before: { status: "PENDING" },
    after: { status: "QUEUED" },
    count: events.length,
    eventIds: events.map((event) => event.id),
  });
}

/** One outcome for a set of events: item, event, counters and audit, as the finish of a slice writes them. */
type Ending = {
  action: string;
  status: "REDRIVEN" | "PENDING";
  item: "delivered" | "failed" | "refused";
  result: string | null;
  flow: "redriven" | "failed" | null;
  findings: Finding[];
};

async function end(tx: Tx, run: Run, rows: ParkedEvent[], ending: Ending, atMs: number): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row.id);
  await tx.run(
    `insert into redrive_items (id, redrive_id, slice, source_id, aggregate_id, version, error_code, state, fence, attempts,
                                result, verdict, finished_at)
     select e.id, $2, 0, e.source_id, e.aggregate_id, e.version, e.error_code, $3, 1, $4, $5, $6::jsonb,
            to_timestamp($7::float8 / 1000)
       from dlq_events e where e.id = any($1::uuid[])`,
    [ids, run.id, ending.item, ending.flow === null ? 0 : 1, ending.result, JSON.stringify(ending.findings), atMs],
  );
  const sent = ending.flow !== null;
  await tx.run(
    `with moved as (
       update dlq_events e set status = $2, last_operator = $3,
              redrives = e.redrives + $4::int, attempts = e.attempts + $4::int,
              failures = case when $5 = ${ITEM.failed} then e.failures + 1 else e.failures end,
              last_attempt_at = case when $4 = 1 then to_timestamp($6::float8 / 1000) else e.last_attempt_at end,
              redrive_at = case when $2 = ${EVENT.REDRIVEN} then to_timestamp($6::float8 / 1000) else e.redrive_at end
        where e.id = any($1::uuid[])
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT.PENDING} as old_status, $2 as new_status
     )${ending.flow ? rollupOf("moved", { flow: { kinds: `'{${ending.flow}}'::text[]`, at: "to_timestamp($6::float8 / 1000)" } }) : rollupOf("moved")}
     select id from moved`,
    [ids, ending.status, run.past.by, sent ? 1 : 0, ending.item, atMs],
  );
  if (ending.item === "failed") {
    await tx.run("update dlq_event_facts set last_error_code = $2 where id = any($1::uuid[])", [ids, ending.result]);
  }
  await appendAudit(tx, {
    actor: "worker",
    action: ending.action,
    subjectKind: "event",
    subjectId: ids.length === 1 ? ids[0]! : null,
    redriveId: run.id,
    before: { status: "QUEUED" },
    after: { status: ending.status, ...(ending.result === null ? {} : { result: ending.result }) },
    count: ids.length,
    atMs,
    eventIds: ids,
  });
}

const PASSED: Finding[] = [
  { check: "payload-parses", ok: true, detail: "valid JSON" },
  { check: "payload-schema", ok: true, detail: "matches the source's JSON Schema" },
  { check: "target-reachable", ok: true, detail: "reachable" },
];

async function refuse(tx: Tx, run: Run, rows: ParkedEvent[], atMs: number): Promise<void> {
  const findings = [PASSED[0]!, run.past.refuses!];
  const refused = { action: "event.refused", status: "PENDING", item: "refused", flow: null } as const;
  await end(tx, run, rows, { ...refused, result: "schema-mismatch", findings }, atMs);
}

async function send(tx: Tx, run: Run, rows: ParkedEvent[], atMs: number): Promise<void> {
  const failed = rows.filter(() => run.random.next() < run.past.failing);
  const delivered = rows.filter((row) => !failed.includes(row));
  const done = {
    action: "event.redriven",
    status: "REDRIVEN",
    item: "delivered",
    result: null,
    flow: "redriven",
  } as const;
  await end(tx, run, delivered, { ...done, findings: PASSED }, atMs);
  const code = run.random.next() < 0.6 ? "HTTP_503" : "HTTP_422";
  const lost = { action: "event.failed", status: "PENDING", item: "failed", flow: "failed" } as const;
  await end(tx, run, failed, { ...lost, result: code, findings: PASSED }, atMs);
  await attempts(tx, run, { rows: delivered, state: "delivered", code: "HTTP_200" }, atMs);
  await attempts(tx, run, { rows: failed, state: "failed", code }, atMs);
  run.delivered.push(...delivered.map((row) => row.id));
  run.failed += failed.length;
}

async function attempts(
  tx: Tx,
  run: Run,
  { rows, state, code }: { rows: ParkedEvent[]; state: string; code: string },
  atMs: number,
): Promise<void> {
  const target = run.past.lane === "slow" ? `${run.past.source}.slow` : run.past.source;
  await tx.run(
    `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at, closed_at,
                                   latency_ms, code)
     select e.id, $2, 1, 1, $3, $4, $5 || ':' || e.event_id, to_timestamp($6::float8 / 1000),
            to_timestamp(($6::float8 + w.ms) / 1000), w.ms, $7
       from unnest($1::uuid[], $8::float8[]) as w (id, ms) join dlq_events e on e.id = w.id`,
    [
      rows.map((row) => row.id),
      run.id,
      state,
      target,
      run.past.source,
      atMs,
      code,
      rows.map(() => 20 + run.random.next() * 120),
    ],
  );
}

/** Parks some of the delivered events again, as a consumer that failed once more would. */
async function bounceSome({ db }: World, run: Run, atMs: number): Promise<Set<string>> {
  const back = run.delivered.filter(() => run.random.next() < run.past.bouncing);
  if (back.length === 0) return new Set();
  const rows = await db.query<{ event_id: string; payload: Buffer; type: string; message: string; stack: string }>(
    `select e.event_id, b.payload, b.error_type as type, b.error_message as message, b.error_detail as stack
       from dlq_events e join dlq_event_bodies b on b.id = e.id where e.id = any($1::uuid[])`,
    [back],
  );
  const arrivals = rows.map(
    ({ event_id, payload, type, message, stack }): Arrival => ({
      source: run.past.source,
      letter: {
        ...{ eventId: event_id, aggregateType: null, aggregateId: null, version: null, eventType: null, traceId: null },
        ...{ errorCode: run.past.errorCode, error: { type, message, stack }, attempts: 2, failedAtMs: atMs - 500 },
        ...{ payload, contentType: "application/json", headers: [], tags: {}, origin: {} },
        redrive: { redriveId: run.id, attempt: 1 },
      },
    }),
  );
  await parkEvents({ db, clock: clockAt(atMs) }, arrivals, systemViewer(`source:${run.past.source}`));
  return new Set(back);
}

async function confirmRest({ db }: World, run: Run, bounced: Set<string>, atMs: number): Promise<void> {
  const quiet = run.delivered.filter((id) => !bounced.has(id));
  if (quiet.length === 0) return;
  await db.transaction(async (tx) => {
    await tx.run(
      `with moved as (
         update dlq_events e set confirmed_at = to_timestamp($2::float8 / 1000), confirmed_redrive = $3 where e.id = any($1::uuid[])
         returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, e.status as old_status,
                   e.status as new_status
       )${rollupOf("moved", { flow: { kinds: flowSql("confirm"), at: "to_timestamp($2::float8 / 1000)" } })}
       select id from moved`,
      [quiet, atMs, run.id],
    );
    await tx.run("update redrives set confirmed = $2 where id = $1", [run.id, quiet.length]);
    await appendAudit(tx, {
      actor: "worker",
      action: "event.confirmed",
      subjectKind: "event",
      subjectId: null,
      redriveId: run.id,
      reason: "no bounce within 600 s",
      before: { status: "REDRIVEN", confirmed: false },
      after: { status: "REDRIVEN", confirmed: true },
      count: quiet.length,
      atMs,
      eventIds: quiet,
    });
  });
}

async function finish(db: Db, run: Run, { events, atMs }: { events: number; atMs: number }): Promise<void> {
  const refused = run.past.refuses ? events : 0;
  await db.transaction(async (tx) => {
    await tx.run(
      `update redrives set state = ${REDRIVE.DONE}, delivered = $2, failed = $3, refused = $4,
              refused_by_reason = $5, failed_by_reason = $6, finished_at = to_timestamp($7::float8 / 1000) where id = $1`,
      [
        run.id,
        run.delivered.length,
        run.failed,
        refused,
        refused > 0 ? { "schema-mismatch": refused } : {},
        run.failed > 0 ? { HTTP_503: run.failed } : {},
        atMs,
      ],
    );
    await appendAudit(tx, {
      actor: "worker",
      action: "redrive.finished",
      subjectKind: "redrive",
      subjectId: run.id,
      redriveId: run.id,
      before: { state: "RUNNING" },
      after: { state: "DONE", delivered: run.delivered.length, failed: run.failed, refused },
      count: 1,
      atMs,
    });
  });
}

/** A clock that always shows the same moment of the past. */
export function clockAt(wallMs: number): Clock {
  const never = () => {
    throw new TypeError("the demo's past has no timers");
  };
  return { nowMs: () => wallMs, wallMs: () => wallMs, sleep: never, timer: never };
}
