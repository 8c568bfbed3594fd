import { once } from "node:events";
import type { RequestListener } from "node:http";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { classifyAny } from "@/lib/kit/retry/classify";
import { execute, tryExecute } from "@/lib/kit/retry/execute";
import { ensureOk } from "@/lib/kit/retry/http-error";
import type { RetryPolicy } from "@/lib/kit/retry/policy";
import { serve } from "@/lib/kit/testing/serve";
import { freePort } from "@/lib/testing/free-port";
import { testDatabase } from "@/lib/testing/postgres";
import { redisInstalled, testRedis } from "@/lib/testing/redis";

const SOON: RetryPolicy = { maxAttempts: 3, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } };

/** A server that answers each request by the next listener; the last one answers all others. */
async function serveEach(...listeners: RequestListener[]): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const url = await serve((request, response) => {
    listeners[Math.min(requests++, listeners.length - 1)]!(request, response);
  });
  return { url, requests: () => requests };
}

const ok: RequestListener = (_, response) => response.end("ok");
const cut: RequestListener = (request) => request.socket.destroy();
const never: RequestListener = () => {};

function get(url: string) {
  return async ({ signal }: { signal: AbortSignal }) => (await ensureOk(await fetch(url, { signal }))).text();
}

describe("fetch", () => {
  test("a port where nobody listens: nothing was sent, so it is repeated", async () => {
    const outcome = await tryExecute(SOON, get(`http://127.0.0.1:${await freePort()}/`));
    expect(outcome).toMatchObject({
      kind: "failed",
      reason: "exhausted",
      code: "ECONNREFUSED",
      sent: "no",
      attempts: 3,
    });
  });

  test("a connection that is cut is repeated only when the call is idempotent", async () => {
    const { url, requests } = await serveEach(cut, cut, ok);
    const once = await tryExecute(SOON, get(url));
    expect(once).toMatchObject({
      kind: "failed",
      reason: "ambiguous",
      code: "UND_ERR_SOCKET",
      sent: "maybe",
      attempts: 1,
    });
    expect(await execute(SOON, get(url), { idempotent: true })).toBe("ok");
    expect(requests()).toBe(3);
  });

  test("an answer that does not come ends at the limit, and its request with it", async () => {
    const closed: Promise<unknown>[] = [];
    const { url } = await serveEach((request) => void closed.push(once(request.socket, "close")), ok);
    const policy = { ...SOON, attemptTimeoutMs: 300 };
    expect(await execute(policy, get(url), { idempotent: true })).toBe("ok");
    expect(closed).toHaveLength(1);
    await closed[0];
  });

  test("a cancelled call leaves no request behind", async () => {
    const { url, requests } = await serveEach(never);
    const controller = new AbortController();
    const running = tryExecute(SOON, get(url), { signal: controller.signal, idempotent: true });
    await expect.poll(requests).toBe(1);
    controller.abort(new Error("enough"));
    expect(await running).toMatchObject({ kind: "cancelled", reason: { message: "enough" }, attempts: 1 });
  });
});

describe("pg", () => {
  async function clients(count: number): Promise<pg.Client[]> {
    const database = await testDatabase();
    const all = Array.from({ length: count }, () => new pg.Client({ connectionString: database.url }));
    await Promise.all(all.map((client) => client.connect()));
    // A client whose connection is ended by the server says so once more as an event.
    for (const client of all) client.on("error", () => {});
    onTestFinished(async () => {
      await Promise.allSettled(all.map((client) => client.end()));
      await database.drop();
    });
    return all;
  }

  test("two transactions that wait for each other both commit", async () => {
    const [one, other] = (await clients(2)) as [pg.Client, pg.Client];
    await one.query("create table balances (id int primary key, balance int not null)");
    await one.query("insert into balances values (1, 100), (2, 100)");
    const add = "update balances set balance = balance + $2 where id = $1";
    let locked = 0;
    let bothLocked = () => {};
    const barrier = new Promise<void>((resolve) => {
      bothLocked = resolve;
    });
    const codes: string[] = [];
    const transfer = (client: pg.Client, from: number, to: number) =>
      execute(
        { ...SOON, attemptTimeoutMs: 20_000 },
        async () => {
          try {
            await client.query("begin");
            await client.query(add, [from, -10]);
            if (++locked === 2) bothLocked();
            await barrier;
            await client.query(add, [to, 10]);
            await client.query("commit");
          } catch (error) {
            await client.query("rollback");
            throw error;
          }
        },
        { classify: classifyAny, onAttempt: ({ verdict }) => void (verdict && codes.push(verdict.code)) },
      );
    await Promise.all([transfer(one, 1, 2), transfer(other, 2, 1)]);
    // The second try of one may meet the first of the other again.
    expect(new Set(codes)).toEqual(new Set(["40P01"]));
    const { rows } = await one.query("select balance from balances order by id");
    expect(rows).toEqual([{ balance: 100 }, { balance: 100 }]);
  });

  test("a broken constraint is permanent, a statement that took too long is not", async () => {
    const [client] = (await clients(1)) as [pg.Client];
    await client.query("create table once (id int primary key)");
    const run = (text: string) => tryExecute(SOON, () => client.query(text), { classify: classifyAny });
    expect(await run("insert into once values (1), (1)")).toMatchObject({ reason: "permanent", code: "23505" });
    await client.query("set statement_timeout = 20");
    expect(await run("select pg_sleep(5)")).toMatchObject({ reason: "exhausted", code: "57014", attempts: 3 });
  });

  test("a connection that the server ends may have committed", async () => {
    const [client, admin] = (await clients(2)) as [pg.Client, pg.Client];
    const { rows } = await client.query("select pg_backend_pid() as pid");
    const running = tryExecute(SOON, () => client.query("select pg_sleep(30)"), { classify: classifyAny });
    const asleep = async () =>
      (await admin.query("select wait_event from pg_stat_activity where pid = $1", [rows[0].pid])).rows[0]?.wait_event;
    await expect.poll(asleep).toBe("PgSleep");
    await admin.query("select pg_terminate_backend($1)", [rows[0].pid]);
    expect(await running).toMatchObject({ kind: "failed", reason: "ambiguous", code: "57P01", sent: "maybe" });
  });
});

describe.skipIf(!redisInstalled)("ioredis", () => {
  test("a replica that refuses writes and a full server are repeated, a wrong type is not", async () => {
    const server = await testRedis();
    const redis = new Redis(server.url);
    onTestFinished(async () => {
      redis.disconnect();
      await server.stop();
    });
    const run = (...command: [string, ...string[]]) =>
      tryExecute(SOON, () => redis.call(...command), { classify: classifyAny });
    await redis.set("text", "x");
    expect(await run("lpush", "text", "y")).toMatchObject({ reason: "permanent", code: "REDIS_WRONGTYPE" });
    await redis.config("SET", "maxmemory", "1");
    expect(await run("set", "more", "x")).toMatchObject({ reason: "exhausted", code: "REDIS_OOM", sent: "no" });
    await redis.config("SET", "maxmemory", "0");
    await redis.replicaof("127.0.0.1", await freePort());
    expect(await run("set", "more", "x")).toMatchObject({ reason: "exhausted", code: "REDIS_READONLY", attempts: 3 });
  });
});
