import fc from "fast-check";
import { Redis } from "ioredis";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outboxTableSql } from "@/lib/kit/outbox/table";
import { LIBRARIES, transactionOn } from "@/lib/kit/testing/libraries";
import { systemClock } from "@/lib/platform/clock";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { servicePoolOfFile } from "@/lib/testing/service-pool";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";
import { confirmProcessed, isRedriven } from "./confirm";
import { createInbox } from "./consumer";
import { forgetProcessed, inboxTableSql, processOnce, StaleVersionError } from "./process-once";
import { redisShield, type Shield } from "./shield";

const tables = { table: "shop_inbox", versions: "shop_versions" };

const pool = servicePoolOfFile(
  12,
  `${inboxTableSql(tables)} create table effects (event_id text, by text);
    ${outboxTableSql({ table: "shop_outbox" })}`,
);
beforeEach(() => pool.query("truncate shop_inbox, shop_versions, effects, shop_outbox"));

/** A crash of the process at this moment: the transaction is never committed. */
class Crash extends Error {}

const transaction = <T>(work: (tx: pg.PoolClient) => Promise<T>) => transactionOn(pool, work);
const effect = (eventId: string) => async (tx: pg.PoolClient) => {
  await tx.query("insert into effects values ($1, 'billing')", [eventId]);
  return `did ${eventId}`;
};
const effects = async () =>
  (await pool.query("select event_id from effects order by 1")).rows.map((row) => row.event_id);

describe("processOnce", () => {
  test("processes an event once for each consumer, and answers with the value", async () => {
    const once = (consumer: string) => transaction((tx) => processOnce(tx, consumer, "e1", effect("e1"), tables));
    expect(await once("billing")).toEqual({ status: "processed", value: "did e1" });
    expect(await once("billing")).toEqual({ status: "duplicate" });
    expect(await once("mail")).toEqual({ status: "processed", value: "did e1" });
    expect(await effects()).toEqual(["e1", "e1"]);
  });

  test("of twenty deliveries at the same time one has an effect", async () => {
    const deliveries = Array.from({ length: 20 }, () =>
      transaction((tx) => processOnce(tx, "billing", "e1", effect("e1"), tables)),
    );
    const statuses = (await Promise.all(deliveries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === "processed")).toHaveLength(1);
    expect(await effects()).toEqual(["e1"]);
  });

  test("work that fails leaves nothing: the next delivery processes the event", async () => {
    const failing = transaction((tx) =>
      processOnce(tx, "billing", "e1", async () => Promise.reject(new Crash()), tables),
    );
    await expect(failing).rejects.toThrow(Crash);
    expect(await transaction((tx) => processOnce(tx, "billing", "e1", effect("e1"), tables))).toMatchObject({
      status: "processed",
    });
  });

  test.each([{}, { version: { aggregateId: "77", version: 3 } }])("costs one statement more: %o", async (options) => {
    await transaction(async (tx) => {
      let statements = 0;
      const counting = { query: (text: string, values: unknown[]) => [statements++, tx.query(text, values)][1] };
      await processOnce(counting as typeof tx, "billing", "e1", async () => 1, { ...tables, ...options });
      await processOnce(counting as typeof tx, "billing", "e1", async () => 1, { ...tables, ...options });
      expect(statements).toBe(2);
    });
  });

  test.each(Object.keys(LIBRARIES))("works in a transaction of %s", async (library) => {
    const results: unknown[] = [];
    const deliver = (eventId: string, version: number) =>
      LIBRARIES[library]!(pool, pool.options.connectionString!, async (tx) => {
        const options = { ...tables, version: { aggregateId: "77", version } };
        results.push((await processOnce(tx, "billing", eventId, async () => 1, options)).status);
        results.push((await processOnce(tx, "mail", eventId, async () => 1, tables)).status);
      });
    await deliver("v5", 5);
    await deliver("v5", 5);
    await expect(deliver("v4", 4)).rejects.toThrow(StaleVersionError);
    expect(results).toEqual(["processed", "processed", "duplicate", "duplicate"]);
  });

  test("empty names are refused", async () => {
    await expect(processOnce(pool, "", "e1", async () => 1)).rejects.toThrow(/consumer is empty/);
    await expect(processOnce(pool, "billing", "", async () => 1)).rejects.toThrow(/eventId is empty/);
  });

  test("forgets what is older than the window, and nothing else", async () => {
    await processOnce(pool, "billing", "old", async () => 1, tables);
    await pool.query("update shop_inbox set processed_at = now() - interval '8 days'");
    await processOnce(pool, "billing", "new", async () => 1, tables);
    expect(await forgetProcessed(pool, { olderThanMs: 7 * 86_400_000, table: "shop_inbox" })).toBe(1);
    expect((await pool.query("select event_id from shop_inbox")).rows).toEqual([{ event_id: "new" }]);
  });
});

describe("versions of an aggregate", () => {
  const bring = (eventId: string, version: number | bigint, aggregateType = "order") =>
    transaction((tx) =>
      processOnce(tx, "billing", eventId, effect(eventId), {
        ...tables,
        version: { aggregateId: "77", aggregateType, version },
      }),
    );

  test("an older version after a newer is refused: park it early", async () => {
    await bring("v3", 3);
    await bring("v5", 5);
    const refused = bring("v4", 4);
    await expect(refused).rejects.toThrow(StaleVersionError);
    await expect(refused).rejects.toMatchObject({ code: "VERSION_CONFLICT", parkEarly: true });
    expect(await effects()).toEqual(["v3", "v5"]);
    // Others: the same version, a later one beyond 2^53, another type, a repeat of an old event.
    await bring("v5b", 5);
    await bring("big", 9_007_199_254_740_993n);
    await bring("bill", 1, "bill");
    expect(await bring("v3", 3)).toEqual({ status: "duplicate" });
  });

  test("a strict version refuses an equal one, and still knows a repeat", async () => {
    const strict = (eventId: string) =>
      transaction((tx) =>
        processOnce(tx, "billing", eventId, effect(eventId), {
          ...{ ...tables, strictVersion: true, version: { aggregateId: "77", version: 5 } },
        }),
      );
    await strict("v5");
    await expect(strict("v5b")).rejects.toThrow(StaleVersionError);
    expect(await strict("v5")).toEqual({ status: "duplicate" });
    expect(await effects()).toEqual(["v5"]);
  });

  test("a refused event is no duplicate afterwards, even when the caller commits", async () => {
    await bring("v5", 5);
    await transaction(async (tx) => {
      const version = { aggregateId: "77", aggregateType: "order", version: 4 };
      await processOnce(tx, "billing", "v4", effect("v4"), { ...tables, version }).catch(() => undefined);
    });
    await expect(bring("v4", 4)).rejects.toThrow(StaleVersionError);
  });

  test("an older version waits for a newer one under way, and is refused then", async () => {
    const gate = Promise.withResolvers<void>();
    const version = { aggregateId: "77", aggregateType: "order", version: 5 };
    const newer = transaction((tx) => processOnce(tx, "billing", "v5", () => gate.promise, { ...tables, version }));
    const held = "select count(*)::int as n from pg_stat_activity where state = 'idle in transaction'";
    await expect.poll(async () => (await pool.query(held)).rows[0].n).toBe(1);
    const older = bring("v4", 4);
    older.catch(() => undefined);
    const waits = "select count(*)::int as n from pg_locks where not granted";
    await expect.poll(async () => (await pool.query(waits)).rows[0].n).toBe(1);
    gate.resolve();
    await newer;
    await expect(older).rejects.toThrow(StaleVersionError);
  });
});

describe("confirmation", () => {
  test("leaves through the outbox, with the effects and never without them", async () => {
    const confirmation = { source: "orders", eventId: "e1", consumer: "billing" };
    const options = { table: "shop_outbox" };
    const failing = transaction(async (tx) => {
      await confirmProcessed(tx, confirmation, options);
      throw new Crash();
    });
    await expect(failing).rejects.toThrow(Crash);
    expect((await pool.query("select * from shop_outbox")).rows).toEqual([]);
    await transaction((tx) => confirmProcessed(tx, confirmation, options));
    const { rows } = await pool.query("select destination, payload from shop_outbox");
    expect(rows).toHaveLength(1);
    expect(rows[0].destination).toBe("parkade:confirm");
    expect(JSON.parse(rows[0].payload.toString())).toEqual(confirmation);
  });

  test("a redriven message is known by its header", () => {
    expect(isRedriven([["X-Redrive-Id", Buffer.from("r1")]])).toBe(true);
    expect(isRedriven([["x-redrive", Buffer.from("r1")]])).toBe(false);
  });
});

describe("a shield that cannot hold", () => {
  test("a TTL below the reordering span is refused", () => {
    const redis = { get: async () => null, set: async () => "OK" };
    expect(() => redisShield({ redis, ttlMs: 60_000, reorderingMs: 60_001 })).toThrow(
      /ttlMs is 60000: it must be at least reorderingMs \(60001\)/,
    );
    expect(() => redisShield({ redis, ttlMs: 10, reorderingMs: 0 })).toThrow(/ttlMs is 10/);
  });
});

describe.skipIf(!redisInstalled)("the shield on Redis (skipped without redis-server)", () => {
  let server: TestRedis;
  let redis: Redis;
  beforeAll(async () => {
    server = await testRedis();
    redis = new Redis(server.url);
  });
  beforeEach(() => redis.flushall());
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  const shieldOf = () => redisShield({ redis, ttlMs: 90_000, reorderingMs: 90_000, timeoutMs: 5_000 });

  test("a processed event costs no transaction the second time, for as long as the TTL says", async () => {
    let transactions = 0;
    const inbox = createInbox<pg.PoolClient>({
      ...tables,
      consumer: "billing",
      shield: shieldOf(),
      transaction: (work) => {
        transactions++;
        return transaction(work);
      },
    });
    expect(await inbox.process("e1", effect("e1"))).toMatchObject({ status: "processed" });
    expect(await inbox.process("e1", effect("e1"))).toEqual({ status: "duplicate" });
    expect(transactions).toBe(1);
    expect(await redis.ttl("inbox:billing:e1")).toBeGreaterThan(80);
    await redis.flushall();
    expect(await inbox.process("e1", effect("e1"))).toEqual({ status: "duplicate" });
    expect([transactions, await effects()]).toEqual([2, ["e1"]]);
  });

  /** Delivers until the event is acknowledged; each delivery may crash at one of these points. */
  type CrashPoint = "before" | "in work" | "at commit" | "after commit" | "none";
  async function deliver(eventId: string, crashes: CrashPoint[], shield: Shield): Promise<void> {
    for (const at of [...crashes, "none" as const]) {
      const inbox = createInbox<pg.PoolClient>({
        ...tables,
        consumer: "billing",
        shield: at === "after commit" ? { ...shield, remember: () => Promise.reject(new Crash()) } : shield,
        transaction: (work) =>
          transaction(async (tx) => {
            if (at === "before") throw new Crash();
            const result = await work(tx);
            if (at === "at commit") throw new Crash();
            return result;
          }),
      });
      const work = async (tx: pg.PoolClient) => {
        await effect(eventId)(tx);
        if (at === "in work") throw new Crash();
      };
      const ended = await inbox.process(eventId, work).catch((error) => error);
      if (!(ended instanceof Crash)) return; // acknowledged: not delivered again
    }
  }
  const points = fc.array(fc.constantFrom<CrashPoint>("before", "in work", "at commit", "after commit"), {
    maxLength: 4,
  });

  test("wherever deliveries crash, the event has its effect exactly once", { retry: 0 }, async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(points, async (crashes) => {
        const eventId = `e${n++}`;
        await deliver(eventId, crashes, shieldOf());
        expect((await effects()).filter((id) => id === eventId)).toHaveLength(1);
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });

  test("a shield that is set before the transaction loses the event of a crash, as the first version of many does", async () => {
    const naive: Shield = {
      knows: async (consumer, eventId) =>
        (await redis.set(`naive:${consumer}:${eventId}`, "1", "EX", 90, "NX")) === null,
      remember: async () => undefined,
    };
    await deliver("e1", ["at commit"], naive);
    expect(await effects()).toEqual([]);
  });

  test("a Redis that is silent or gone never blocks: the database decides, and Redis is left alone for a while", async () => {
    const proxy = await startTcpProxy(server.port);
    const client = new Redis(proxy.port, "127.0.0.1", { retryStrategy: () => 10 });
    client.on("error", () => undefined);
    await client.ping();
    const errors: unknown[] = [];
    let asked = 0;
    const counted = {
      get: (key: string) => [asked++, client.get(key)][1] as Promise<string | null>,
      set: client.set.bind(client),
    };
    const shield = redisShield({
      redis: counted as never,
      ttlMs: 90_000,
      reorderingMs: 90_000,
      timeoutMs: 30,
      pauseMs: 3_600_000,
      onError: (error) => errors.push(error),
      clock: systemClock,
    });
    const inbox = createInbox<pg.PoolClient>({ ...tables, consumer: "billing", shield, transaction });
    proxy.stall();
    for (const id of ["e1", "e2", "e1"]) await inbox.process(id, effect(id));
    expect([await effects(), errors.length, asked]).toEqual([["e1", "e2"], 1, 1]);
    client.disconnect();
    await proxy.stop();
    const gone = redisShield({
      redis: client as never,
      ttlMs: 90_000,
      reorderingMs: 0,
      onError: (error) => errors.push(error),
    });
    expect([await gone.knows("billing", "e1"), errors.length]).toEqual([false, 2]);
  });
});
