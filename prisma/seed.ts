import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { flowSql, rollupOf } from "@/lib/observe/rollups/rollup.write";
import { createDb, type Db, type Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { EVENT, EVENT_MOVE } from "@/lib/redrive/states/state.sql";
import type { Failure } from "./demo/failure-shape";
import { letterOf, PAYLOAD_SCHEMAS, type Versions } from "./demo/letters";
import { clockAt, type PastRedrive, replayRedrive } from "./demo/past-redrives";
import { randomOf } from "./demo/random";
import { HISTORY_DAYS, timelineOf } from "./demo/timeline";

/**
 * The demo: nine days of realistic dead letters, and the actions of operators on some of them. The seed writes through
 * the product's own functions, so that counters, audit and history agree. A second run adds nothing.
 */

const EVENTS = Number(process.env.PARKADE_DEMO_EVENTS ?? 12_000);
const HOUR_MS = 3_600_000;
const SOURCES: Failure["source"][] = ["orders", "payments", "shipping", "inventory", "notifications"];
const MARK = "demo";

const REDRIVES: PastRedrive[] = [
  {
    hoursAgo: 186,
    source: "notifications",
    errorCode: "RATE_LIMITED",
    lane: "slow",
    ratePerSecond: 5,
    by: "jonas",
    reason: "quota was raised at 09:40",
    limit: 420,
    failing: 0.03,
    bouncing: 0.01,
  },
  {
    hoursAgo: 160,
    source: "inventory",
    errorCode: "UPSTREAM_5XX",
    lane: "slow",
    ratePerSecond: 5,
    by: "maria",
    reason: "warehouse API is back after the rollback",
    limit: 300,
    failing: 0.05,
    bouncing: 0.02,
  },
  {
    hoursAgo: 118,
    source: "payments",
    errorCode: "AUTH_ERROR",
    lane: "main",
    ratePerSecond: 50,
    by: "maria",
    reason: "ledger certificate renewed",
    limit: 500,
    failing: 0.01,
    bouncing: 0,
  },
  {
    hoursAgo: 92,
    source: "shipping",
    errorCode: "UPSTREAM_5XX",
    lane: "slow",
    ratePerSecond: 3,
    by: "jonas",
    reason: "northline answers again",
    limit: 450,
    failing: 0.12,
    bouncing: 0.06,
  },
  {
    hoursAgo: 66,
    source: "orders",
    errorCode: "VALIDATION_ERROR",
    lane: "slow",
    ratePerSecond: 5,
    by: "amina",
    reason: "try whether the new validator takes them",
    limit: 160,
    failing: 0,
    bouncing: 0,
    refuses: { check: "payload-schema", ok: false, detail: "/items must NOT have fewer than 1 items" },
  },
  {
    hoursAgo: 43,
    source: "inventory",
    errorCode: "TIMEOUT",
    lane: "main",
    ratePerSecond: 20,
    by: "amina",
    reason: "index was rebuilt over night",
    limit: 380,
    failing: 0.04,
    bouncing: 0.03,
  },
  {
    hoursAgo: 20,
    source: "payments",
    errorCode: "UPSTREAM_5XX",
    lane: "slow",
    ratePerSecond: 5,
    by: "maria",
    reason: "acquirer closed their incident",
    limit: 600,
    failing: 0.08,
    bouncing: 0.04,
  },
  {
    hoursAgo: 5,
    source: "orders",
    errorCode: "TIMEOUT",
    lane: "slow",
    ratePerSecond: 4,
    by: "jonas",
    reason: "pricing was scaled out",
    limit: 240,
    failing: 0.1,
    bouncing: 0.07,
  },
];

async function main(): Promise<void> {
  const url = required("DATABASE_URL");
  const port = required("PARKADE_DEMO_PORT");
  const db = createDb(url, { max: 2, applicationName: "parkade-demo" });
  try {
    const state = await begin(db);
    if (state === "loaded") return say("The demo's dead letters are there already.");
    if (state === "foreign") {
      return say("This store has sources of its own with the demo's names: nothing was added.");
    }
    const nowMs = Date.now();
    await addSources(db, port, nowMs - HISTORY_DAYS * 24 * HOUR_MS);
    const parked = await parkHistory(db, nowMs);
    const random = randomOf(7);
    for (const past of REDRIVES) await replayRedrive({ db, random, nowMs }, past);
    await ignoreSome(db, nowMs);
    await addControls(db, nowMs);
    await mark(db, "loaded");
    say(`Loaded ${parked} dead letters of ${SOURCES.length} sources over ${HISTORY_DAYS} days.`);
  } finally {
    await db.end();
  }
}

function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: npm start -- --demo sets it`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * `loading` is also the state after an interrupted run: the seed continues, and the events that it had parked are
 * duplicates.
 */
async function begin(db: Db): Promise<"loaded" | "loading" | "foreign"> {
  const [marked] = await db.query<{ value: string }>("select value from settings where key = $1", [MARK]);
  if (marked) return marked.value === "loaded" ? "loaded" : "loading";
  const [taken] = await db.query("select 1 from sources where name = any($1::text[]) limit 1", [SOURCES]);
  if (taken) return "foreign";
  await mark(db, "loading");
  return "loading";
}

async function mark(db: Db, state: string): Promise<void> {
  await db.run(
    `insert into settings (key, value, updated_by) values ($1, to_jsonb($2::text), 'demo')
     on conflict (key) do update set value = excluded.value, updated_at = now()`,
    [MARK, state],
  );
}

async function addSources(db: Db, port: string, atMs: number): Promise<void> {
  for (const name of SOURCES) {
    const config = {
      redriveUrl: `http://127.0.0.1:${port}/${name}`,
      slowLaneUrl: `http://127.0.0.1:${port}/${name}?lane=slow`,
    };
    const payloadSchema = PAYLOAD_SCHEMAS[name] ?? null;
    await db.transaction(async (tx) => {
      const id = uuidv7(atMs);
      const made = await tx.run(
        `insert into sources (id, name, kind, config, created_at, updated_at)
         values ($1, $2, 'http', $3, to_timestamp($4::float8 / 1000), to_timestamp($4::float8 / 1000))
         on conflict (name) do nothing`,
        [id, name, config, atMs],
      );
      if (made === 0) return;
      if (payloadSchema !== null) {
        await tx.run(
          `insert into payload_schemas (id, source_id, version, body, current, origin, created_by, created_at)
           values ($1, $2, 1, $3::json, true, 'source', 'maria', to_timestamp($4::float8 / 1000))`,
          [uuidv7(atMs), id, JSON.stringify(payloadSchema), atMs],
        );
      }
      await tx.run(
        `insert into targets (id, source_id, lane, name, rate_per_second)
         values ($2, $1, 'main', $4, 50), ($3, $1, 'slow', $4 || '.slow', 5)`,
        [id, uuidv7(atMs), uuidv7(atMs), name],
      );
      const after = { kind: "http", config, payloadSchema, enabled: true };
      await appendAudit(tx, {
        ...{ actor: "maria", action: "source.created", subjectKind: "source", subjectId: name },
        ...{ before: null, after, count: 1, atMs },
      });
    });
  }
}

async function parkHistory(db: Db, nowMs: number): Promise<number> {
  const random = randomOf(42);
  const versions: Versions = new Map();
  let n = 0;
  for (const { atMs, failures } of timelineOf(nowMs, EVENTS, random)) {
    const arrivals = failures.map((failure) => ({
      source: failure.source,
      letter: letterOf(failure, n++, Math.min(atMs, nowMs), random, versions),
    }));
    await parkEvents({ db, clock: clockAt(Math.min(atMs, nowMs)) }, arrivals, systemViewer("demo"));
  }
  return n;
}

/** One group that an operator had decided not to send again. */
async function ignoreSome(db: Db, nowMs: number): Promise<void> {
  const atMs = nowMs - 30 * HOUR_MS;
  const reason = "mailboxes are gone: support wrote to these customers";
  await db.transaction(async (tx) => {
    const rows = await tx.query<{ id: string }>(
      `with moved as (
         update dlq_events e set status = ${EVENT_MOVE.ignore.to}, last_operator = 'amina'
          where e.status = ${EVENT.PENDING} and e.error_code = 'UPSTREAM_4XX' and e.first_seen < to_timestamp($1::float8 / 1000)
            and e.source_id = (select id from sources where name = 'notifications')
         returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT.PENDING} as old_status,
                   e.status as new_status
       )${rollupOf("moved", { flow: { kinds: flowSql("ignore"), at: "to_timestamp($1::float8 / 1000)" } })}
       select id from moved`,
      [atMs],
    );
    if (rows.length === 0) return;
    await appendAudit(tx, {
      ...{ actor: "amina", action: "event.ignored", subjectKind: "event", subjectId: null, reason },
      ...{ before: { status: "PENDING" }, after: { status: "IGNORED" }, count: rows.length, atMs },
      eventIds: rows.map((row) => row.id),
    });
  });
}

type Control = {
  kind: "blacklist" | "whitelist" | "cooldown";
  scope: "aggregateId" | "errorCode" | "source";
  value: string;
  reason: string;
  by: string;
  origin: "person" | "automatic";
  hoursAgo: number;
  endsInHours: number | null;
};

async function addControls(db: Db, nowMs: number): Promise<void> {
  const [worst] = await db.query<{ id: string }>(
    `select aggregate_id as id from dlq_events where status = ${EVENT.PENDING} and error_code = 'VERSION_CONFLICT'
      group by aggregate_id order by count(*) desc, 1 limit 1`,
  );
  const controls: Control[] = [
    {
      kind: "cooldown",
      scope: "errorCode",
      value: "RATE_LIMITED",
      reason: "the acquirer asked for a quiet evening",
      by: "maria",
      origin: "person",
      hoursAgo: 3,
      endsInHours: 6,
    },
    {
      kind: "blacklist",
      scope: "errorCode",
      value: "DESERIALIZATION_ERROR",
      reason: "the payloads are broken: fix the producer first",
      by: "jonas",
      origin: "person",
      hoursAgo: 50,
      endsInHours: null,
    },
  ];
  if (worst) {
    controls.push({
      kind: "blacklist",
      scope: "aggregateId",
      value: worst.id,
      reason: "3 failures in a row",
      by: "worker",
      origin: "automatic",
      hoursAgo: 20,
      endsInHours: null,
    });
  }
  await db.transaction(async (tx) => {
    for (const control of controls) await addControl(tx, control, nowMs);
  });
}

async function addControl(tx: Tx, control: Control, nowMs: number): Promise<void> {
  const { kind, scope, value, reason, by, origin } = control;
  const atMs = nowMs - control.hoursAgo * HOUR_MS;
  const expiresMs = control.endsInHours === null ? null : nowMs + control.endsInHours * HOUR_MS;
  const id = uuidv7(atMs);
  await tx.run(
    `insert into controls (id, kind, scope, value, reason, origin, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::float8 / 1000), to_timestamp($9::float8 / 1000))`,
    [id, kind, scope, value, reason, origin, by, atMs, expiresMs],
  );
  const expiresAt = expiresMs === null ? null : new Date(expiresMs).toISOString();
  await appendAudit(tx, {
    ...{ actor: by, action: "control.imposed", subjectKind: "control", subjectId: id, reason },
    ...{ before: null, after: { kind, scope: { [scope]: value }, expiresAt }, count: 1, atMs },
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
