import { type ChildProcess, spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDb, type Db } from "@/lib/platform/database/db";
import { freePort } from "@/lib/testing/free-port";
import { mendAllLines } from "@/lib/testing/lines";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { auditGaps, rollupDrift } from "@/lib/testing/rollup-drift";

function run(script: string, env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ["--import", "tsx", script], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
}

async function seed(url: string, port: number): Promise<string> {
  const child = run("prisma/seed.ts", {
    DATABASE_URL: url,
    PARKADE_DEMO_PORT: String(port),
  });
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (data) => (output += data));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  expect(output + code).toMatch(/0$/);
  return output;
}

describe("the demo's data", () => {
  let database: TestDatabase;
  let db: Db;
  beforeAll(async () => {
    database = await testDatabase();
    db = createDb(database.url, { max: 2 });
    await seed(database.url, 4_711);
  });
  afterAll(async () => {
    await db.end();
    await database.drop();
  });
  const value = async (sql: string) => Object.values((await db.query(sql))[0]!)[0];

  test("is a week of four causes, three of them dealt with or hopeless", async () => {
    expect(await value("select count(*) from dlq_events")).toBe(60);
    expect(await value("select count(*) from dlq_groups")).toBe(4);
    expect(await value("select count(distinct date_trunc('day', first_seen)) from dlq_events")).toBeGreaterThanOrEqual(
      4,
    );
    expect(await value("select count(*) from redrives where state = 'DONE'")).toBe(1);
    expect(await value("select count(*) from dlq_events where bounces > 0")).toBe(2);
    expect(await value("select count(*) from dlq_events where confirmed_at is not null")).toBe(10);
    expect(await value("select count(*) from dlq_events where status = 'IGNORED'")).toBe(10);
    const waiting = "select count(*) from dlq_events where aggregate_id = 'order-1003' and status = 'PENDING'";
    expect(await value(waiting)).toBeGreaterThan(1);
  });

  test("has counters, audit and lines that agree with its events", async () => {
    expect(await rollupDrift(db)).toEqual([]);
    expect(await auditGaps(db)).toEqual([]);
    expect(await mendAllLines(db)).toBe(0);
    const drift = await db.query(
      `select r.id from redrives r join redrive_items i on i.redrive_id = r.id group by r.id
        having r.total <> count(*) or r.delivered <> count(*) filter (where i.state = 'delivered')
            or r.failed <> count(*) filter (where i.state = 'failed')
            or r.refused <> count(*) filter (where i.state = 'refused')`,
    );
    expect(drift).toEqual([]);
  });

  test("is loaded once", async () => {
    const before = await value("select count(*) from audit_entries");
    expect(await seed(database.url, 4_711)).toContain("already");
    expect(await value("select count(*) from audit_entries")).toBe(before);
  });
});

describe("the demo's downstream", () => {
  let child: ChildProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}/orders`;
    child = run("workers/demo-downstream.ts", { PARKADE_DEMO_PORT: String(port) });
    await new Promise((resolve) => child.once("message", resolve));
  });
  afterAll(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  });
  const send = (key: string) => fetch(url, { method: "POST", body: "{}", headers: { "idempotency-key": key } });

  test("fails now and then, asks to wait, and takes each key once", async () => {
    const keys = Array.from({ length: 60 }, (_, i) => `orders:event-${i}`);
    const first = await Promise.all(keys.map(send));
    const statuses = new Set(first.map((answer) => answer.status));
    expect(statuses).toContain(200);
    expect(statuses).toContain(503);
    expect(first.find((answer) => answer.status === 503)?.headers.get("retry-after")).toBe("1");
    const taken = keys.filter((_, i) => first[i]!.status === 200);
    const again = await Promise.all(taken.map(send));
    expect(again.every((answer) => answer.headers.get("idempotent-replayed") === "true")).toBe(true);
  });
});
