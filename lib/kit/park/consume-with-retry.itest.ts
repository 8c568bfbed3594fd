import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createInbox, inboxTableSql, StaleVersionError } from "@/lib/kit/inbox/inbox";
import { outboxTableSql } from "@/lib/kit/outbox/table";
import { ensureOk, type RetryPolicy } from "@/lib/kit/retry/retry";
import { transactionOn } from "@/lib/kit/testing/libraries";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { consumeWithRetry, createParker, type Parker } from "./park";

let parkade: ParkadeServer;
let pool: pg.Pool;
let parker: Parker;
let folder: string;
beforeAll(async () => {
  parkade = await parkadeServer();
  pool = new pg.Pool({ connectionString: parkade.console.database.url, max: 4 });
  const tables = { table: "shop_inbox", versions: "shop_versions" };
  await pool.query(`${inboxTableSql(tables)} create table effects (event_id text);
    ${outboxTableSql({ table: "shop_outbox" })}`);
  folder = mkdtempSync(join(tmpdir(), "parkade-consume-"));
  parker = createParker({ url: parkade.url, source: "orders", spoolDir: folder, waitMsMax: 10_000 });
});
beforeEach(() => pool.query("truncate shop_inbox, shop_outbox, effects"));
afterAll(async () => {
  await parker.close();
  await pool.end();
  await parkade.stop();
  rmSync(folder, { recursive: true });
});

const known = new Set<string>();
let transactions = 0;
const inbox = createInbox<pg.PoolClient>({
  consumer: "billing",
  table: "shop_inbox",
  versions: "shop_versions",
  outbox: { table: "shop_outbox" },
  shield: {
    knows: async (_, eventId) => known.has(eventId),
    remember: async (_, eventId) => void known.add(eventId),
  },
  transaction: (work) => {
    transactions++;
    return transactionOn(pool, work);
  },
});
const retry: RetryPolicy = { maxAttempts: 4, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } };
/** Has its effect, then fails as often as `failures` says. */
function flaky(eventId: string, failures: unknown[]) {
  return async (tx: pg.PoolClient) => {
    await tx.query("insert into effects values ($1)", [eventId]);
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  };
}
const consume = (eventId: string, failures: unknown[], headers: [string, string][] = []) =>
  consumeWithRetry({ eventId, payload: { eventId }, headers }, flaky(eventId, failures), {
    ...{ inbox, parker, retry, confirm: true },
  });
const effects = async () => (await pool.query("select event_id from effects")).rows.map((row) => row.event_id);
const parked = (eventId: string) =>
  parkade.console.deps.db.query(
    `select e.error_code, e.attempts, b.error_detail from event_keys k join dlq_events e on e.id = k.id
      join dlq_event_bodies b on b.id = e.id where k.event_id = $1`,
    [eventId],
  );

test("what fails twice and then succeeds has its effect once, and is not parked", async () => {
  expect(
    await consume("twice", [new RangeError("not yet"), Object.assign(new Error("locked"), { code: "STOCK_LOCKED" })]),
  ).toEqual({
    status: "processed",
    eventId: "twice",
  });
  expect([await effects(), await parked("twice")]).toEqual([["twice"], []]);
});

test("what fails at each attempt is parked at the limit, with its cause, and leaves no effect", async () => {
  const failures = Array.from({ length: 9 }, () => new RangeError("amount is above 100"));
  expect(await consume("poison", failures)).toEqual({ status: "stored", eventId: "poison" });
  expect(failures).toHaveLength(5);
  expect(await effects()).toEqual([]);
  expect(await parked("poison")).toMatchObject([
    { error_code: "UNHANDLED_EXCEPTION", attempts: 4, error_detail: expect.stringMatching(/amount is above 100/) },
  ]);
  // Once it is mended it is new to the inbox.
  expect(await consume("poison", [])).toMatchObject({ status: "processed" });
});

test.each([
  ["early", () => Object.assign(new Error("no such customer"), { parkEarly: true }), "UNHANDLED_EXCEPTION"],
  ["stale", () => new StaleVersionError({ aggregateId: "77", version: 3 }, "stale"), "VERSION_CONFLICT"],
  ["refused", () => ensureOk(new Response("", { status: 422 })).catch((error: unknown) => error), "UPSTREAM_4XX"],
])("a failure that no repeat changes is parked at once: %s", async (eventId, fault, errorCode) => {
  const failures = [await fault(), await fault()];
  expect(await consume(eventId, failures)).toMatchObject({ status: "stored" });
  expect(failures).toHaveLength(1);
  expect(await parked(eventId)).toMatchObject([{ error_code: errorCode, attempts: 1 }]);
});

test("the shield answers a duplicate before any transaction, and a redriven one is confirmed all the same", async () => {
  const redriven: [string, string][] = [
    ["x-redrive-id", "0199"],
    ["x-redrive-from", "other"],
  ];
  await consume("again", []);
  const before = transactions;
  expect(await consume("again", [])).toEqual({ status: "duplicate", eventId: "again" });
  expect(transactions).toBe(before);
  expect((await pool.query("select 1 from shop_outbox")).rowCount).toBe(0);
  expect(await consume("again", [], redriven)).toMatchObject({ status: "duplicate" });
  await consume("first", [new Error("once")], [["x-redrive-id", "0199"]]);
  const { rows } = await pool.query("select payload from shop_outbox order by seq");
  expect(rows.map(({ payload }) => JSON.parse(payload.toString()))).toEqual([
    { source: "other", eventId: "again", consumer: "billing" },
    { source: "orders", eventId: "first", consumer: "billing" },
  ]);
  expect(await effects()).toEqual(["again", "first"]);
});

test("a consumer that stops parks nothing: the message comes again", async () => {
  const stop = new AbortController();
  const work = async () => {
    stop.abort(new Error("the consumer stops"));
    throw new Error("down");
  };
  const consumed = consumeWithRetry({ eventId: "stopped", payload: 1 }, work, {
    inbox,
    parker,
    retry,
    signal: stop.signal,
  });
  await expect(consumed).rejects.toThrow("the consumer stops");
  expect(await parked("stopped")).toEqual([]);
});
