import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { followLines } from "@/lib/order/lines.write";
import { createDb, type Db, type Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { flowSql, rollupOf } from "@/lib/states/rollup.write";
import { EVENT, EVENT_MOVE } from "@/lib/states/state.sql";
import { lettersUntil, ORDER_SCHEMA, type Source } from "@/prisma/demo/letters";
import { clockAt, replayRedrive } from "@/prisma/demo/past-redrive";

/**
 * The demo: the dead letters of a week by four causes, one of them an incident that goes on, and what people did about the
 * others. The letters come in through the product's own function; a second run adds nothing.
 */

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const SOURCES: Source[] = ["orders", "payments", "notifications"];
const MARK = "demo";

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
    await addSources(db, port, nowMs - WEEK_MS);
    const letters = lettersUntil(nowMs);
    for (const { source, letter, atMs } of letters) {
      await parkEvents({ db, clock: clockAt(atMs) }, [{ source, letter }], systemViewer("demo"));
    }
    await replayRedrive(db, letters, nowMs);
    await ignoreSome(db, nowMs);
    await addControls(db, nowMs);
    await mark(db, "loaded");
    say(`Loaded ${letters.length} dead letters of ${SOURCES.length} sources.`);
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
    const payloadSchema = name === "orders" ? ORDER_SCHEMA : null;
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

/** One group that an operator had decided not to send again. */
async function ignoreSome(db: Db, nowMs: number): Promise<void> {
  const atMs = nowMs - 100 * HOUR_MS;
  const reason = "mailboxes are gone: support wrote to these customers";
  await db.transaction(async (tx) => {
    const rows = await tx.query<{ id: string }>(
      `with moved as (
         update dlq_events e set status = ${EVENT_MOVE.ignore.to}, last_operator = 'amina'
          where e.status = ${EVENT.PENDING} and e.source_id = (select id from sources where name = 'notifications')
         returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT.PENDING} as old_status,
                   e.status as new_status
       )${rollupOf("moved", { flow: { kinds: flowSql("ignore"), at: "to_timestamp($1::float8 / 1000)" } })}
       select id from moved`,
      [atMs],
    );
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await followLines(tx, ids);
    await appendAudit(tx, {
      ...{ actor: "amina", action: "event.ignored", subjectKind: "event", subjectId: null, reason },
      ...{ before: { status: "PENDING" }, after: { status: "IGNORED" }, count: rows.length, atMs },
      eventIds: ids,
    });
  });
}

async function addControls(db: Db, nowMs: number): Promise<void> {
  await db.transaction(async (tx) => {
    await addControl(tx, {
      ...{
        kind: "cooldown",
        scope: "errorCode",
        value: "RATE_LIMITED",
        reason: "the acquirer asked for a quiet evening",
      },
      ...{ by: "maria", origin: "person", atMs: nowMs - 3 * HOUR_MS, expiresMs: nowMs + 6 * HOUR_MS },
    });
    await addControl(tx, {
      ...{ kind: "blacklist", scope: "aggregateId", value: "order-1003", reason: "3 failures in a row" },
      ...{ by: "worker", origin: "automatic", atMs: nowMs - HOUR_MS, expiresMs: null },
    });
  });
}

type Control = {
  kind: "blacklist" | "cooldown";
  scope: "aggregateId" | "errorCode";
  value: string;
  reason: string;
  by: string;
  origin: "person" | "automatic";
  atMs: number;
  expiresMs: number | null;
};

async function addControl(tx: Tx, control: Control): Promise<void> {
  const { kind, scope, value, reason, by, origin, atMs, expiresMs } = control;
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
