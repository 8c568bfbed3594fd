import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { httpTransport } from "@/lib/kit/outbox/transports/http";
import { kafkaTransport } from "@/lib/kit/outbox/transports/kafka";
import { fromPublisher } from "@/lib/kit/outbox/transports/send-each";
import { runnerOf } from "@/lib/kit/sql";
import { sendAll } from "@/lib/kit/testing/slow-log";
import { systemClock } from "@/lib/platform/clock";
import { servicePoolOfFile } from "@/lib/testing/service-pool";
import { ClaimTable } from "./claims";
import { insertOutbox } from "./insert";
import type { Message, Transport } from "./message";
import { createOutboxPublisher, outboxBacklog, type PublisherOptions, publishDue } from "./publisher";
import { outboxTableSql } from "./table";

const table = "shop_outbox";

const pool = servicePoolOfFile(12, outboxTableSql({ table, archive: "shop_outbox_archive" }));
beforeEach(() => pool.query(`truncate ${table} restart identity`));

/** The waits of an outage take milliseconds. */
const hasty = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 5), signal),
};
const noWait = { kind: "fixed", delayMs: 0, jitter: { kind: "none" } } as const;
const options = (transport: Transport, more: Partial<PublisherOptions> = {}): PublisherOptions => ({
  pool,
  table,
  transport,
  backoff: noWait,
  ...more,
});

/** Ids are `<aggregate>-<n>`, n counts up from 0. */
async function insert(aggregates: number, each: number): Promise<void> {
  const events = Array.from({ length: aggregates * each }, (_, at) => {
    const aggregateId = `a${at % aggregates}`;
    const id = `${aggregateId}-${Math.floor(at / aggregates)}`;
    return { id, aggregateId, eventType: "moved", destination: "d", payload: { id } };
  });
  await insertOutbox(pool, events, { table });
}

async function rows(where = "true") {
  const { rows } = await pool.query(`select * from ${table} where ${where} order by seq`);
  return rows as { id: string; status: string; attempts: number; last_error: string | null; claim: string | null }[];
}
const ids = async (where: string) => (await rows(where)).map(({ id }) => id);

/** The first arrival of each event, by aggregate: repeats are what a consumer's inbox drops. */
function orderFaults(arrived: readonly string[]): string[] {
  const next = new Map<string, number>();
  return [...new Set(arrived)].filter((id) => {
    const [aggregate, n] = id.split("-") as [string, string];
    const expected = next.get(aggregate) ?? 0;
    next.set(aggregate, expected + 1);
    return Number(n) !== expected;
  });
}

/** Collects what it sends; `fault` decides on an error. */
function collector(fault: (message: Message, nth: number) => unknown = () => null) {
  const arrived: string[] = [];
  const tries = new Map<string, number>();
  const transport = sendAll((message) => {
    const nth = (tries.get(message.id) ?? 0) + 1;
    tries.set(message.id, nth);
    const error = fault(message, nth);
    if (error) throw error;
    arrived.push(message.id);
  });
  return { arrived, transport, tries };
}

describe("publishing", () => {
  test("sends each event once, with its bytes, key and headers, and marks it SENT", async () => {
    await insertOutbox(
      pool,
      {
        id: "e1",
        aggregateType: "order",
        aggregateId: "77",
        eventType: "order.paid",
        destination: "orders",
        key: "customer-5",
        payload: new Uint8Array([0, 255]),
        headers: [
          ["a", "b"],
          ["bin", new Uint8Array([1])],
          ["none", null],
        ],
      },
      { table },
    );
    const seen: Message[] = [];
    expect(await publishDue(options(sendAll((message) => seen.push(message))))).toBe(1);
    expect(seen).toEqual([
      {
        id: "e1",
        key: "customer-5",
        body: Buffer.from([0, 255]),
        headers: [
          ["a", Buffer.from("b")],
          ["bin", Buffer.from([1])],
          ["none", null],
        ],
        destination: "orders",
        eventType: "order.paid",
        aggregateType: "order",
        aggregateId: "77",
      },
    ]);
    expect(await rows()).toMatchObject([{ status: "SENT", attempts: 1, claim: null }]);
    // An option that is given as undefined has its default.
    const undefinedOnes = { batch: undefined, clock: undefined };
    expect(
      await publishDue(
        options(
          sendAll((message) => seen.push(message)),
          undefinedOnes,
        ),
      ),
    ).toBe(0);
  });

  test("one message of an aggregate is under way at a time, unless the transport keeps their order", async () => {
    await insert(2, 3);
    const calls: string[][] = [];
    const transport: Transport = {
      publishMany: async (messages) => {
        calls.push(messages.map(({ id }) => id));
        return messages.map(() => ({ ok: true }));
      },
    };
    await publishDue(options(transport));
    expect(calls).toEqual([
      ["a0-0", "a1-0"],
      ["a0-1", "a1-1"],
      ["a0-2", "a1-2"],
    ]);
    await pool.query(`update ${table} set status = 'NEW'`);
    calls.length = 0;
    await publishDue(options({ ...transport, keepsOrder: true }));
    expect(calls.map((call) => call.length)).toEqual([6]);
  });

  test("a notification wakes an idle publisher: it does not wait for its poll", async () => {
    const { arrived, transport } = collector();
    const publisher = createOutboxPublisher(options(transport, { pollMs: 3_600_000 }));
    const listening =
      "select count(*)::int as n from pg_stat_activity where query like 'listen%' and datname = current_database()";
    await expect.poll(async () => (await pool.query(listening)).rows[0].n).toBe(1);
    await insert(1, 1);
    await expect.poll(() => arrived).toEqual(["a0-0"]);
    // The listening connection breaks, and is made again.
    await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()",
    );
    await insertOutbox(
      pool,
      { id: "a0-1", aggregateId: "a0", eventType: "moved", destination: "d", payload: 1 },
      { table },
    );
    await expect.poll(() => arrived).toEqual(["a0-0", "a0-1"]);
    await publisher.stop();
  });

  test("without a notification the poll finds it", async () => {
    const { arrived, transport } = collector();
    const publisher = createOutboxPublisher(options(transport, { pollMs: 20 }));
    await insertOutbox(
      pool,
      { id: "a0-0", aggregateId: "a0", eventType: "moved", destination: "d", payload: 1 },
      { table, notify: false },
    );
    await expect.poll(() => arrived).toEqual(["a0-0"]);
    await publisher.stop();
  });

  test("a stop finishes the send under way, records it, and gives the rest back", async () => {
    await insert(1, 5);
    const gate = Promise.withResolvers<void>();
    const { arrived, transport } = collector();
    const slow: Transport = {
      publishMany: async (messages, signal) => {
        await gate.promise;
        return transport.publishMany(messages, signal);
      },
    };
    const publisher = createOutboxPublisher(options(slow));
    await expect.poll(async () => (await ids("claim is not null")).length).toBe(5);
    const stopped = publisher.stop();
    gate.resolve();
    await stopped;
    expect(arrived).toEqual(["a0-0"]);
    expect(await ids("status = 'SENT'")).toEqual(["a0-0"]);
    expect(await ids("claim is not null")).toEqual([]);
  });
});

describe("order of an aggregate", () => {
  test("an older event that waits holds the later ones; other aggregates go on", async () => {
    await insert(2, 3);
    const { arrived, transport } = collector(({ id }, nth) => (id === "a0-1" && nth === 1 ? new Error("busy") : null));
    await publishDue(options(transport, { backoff: { kind: "fixed", delayMs: 3_600_000, jitter: { kind: "none" } } }));
    expect(arrived.sort()).toEqual(["a0-0", "a1-0", "a1-1", "a1-2"]);
    expect(await rows("id = 'a0-1'")).toMatchObject([{ status: "NEW", attempts: 1, last_error: "Error: busy" }]);
    await pool.query(`update ${table} set available_at = now()`);
    await publishDue(options(transport));
    expect(orderFaults(arrived.filter((id) => id.startsWith("a0")))).toEqual([]);
    expect(arrived).toHaveLength(6);
  });

  test("what was inserted before the clock was set back is sent at once, and waits between two tries", async () => {
    await insert(1, 2);
    await pool.query(
      `update ${table} set created_at = created_at + interval '1 hour', available_at = available_at + interval '1 hour'`,
    );
    const { arrived, transport } = collector(({ id }, nth) => (id === "a0-0" && nth === 1 ? new Error("busy") : null));
    const backoff = { kind: "fixed", delayMs: 60_000, jitter: { kind: "none" } } as const;
    await publishDue(options(transport, { backoff }));
    expect(await rows("id = 'a0-0'")).toMatchObject([{ status: "NEW", attempts: 1 }]);
    await publishDue(options(transport, { backoff }));
    expect(await rows("id = 'a0-0'")).toMatchObject([{ status: "NEW", attempts: 1 }]);
    await pool.query(`update ${table} set available_at = now()`);
    await publishDue(options(transport, { backoff }));
    expect(arrived).toEqual(["a0-0", "a0-1"]);
  });

  test("a held aggregate with a long tail does not keep others from the claim", async () => {
    await insert(1, 50);
    await pool.query(`update ${table} set available_at = now() + interval '1 hour' where id = 'a0-0'`);
    await insertOutbox(
      pool,
      { id: "b-0", aggregateId: "b", eventType: "moved", destination: "d", payload: 1 },
      { table },
    );
    const { arrived, transport } = collector();
    await publishDue(options(transport, { batch: 10 }));
    expect(arrived).toEqual(["b-0"]);
  });

  test("a claim leaves out what stands behind an event that another claim locks", async () => {
    await insert(1, 4);
    const holder = await pool.connect();
    await holder.query("begin");
    await holder.query(`select from ${table} where id in ('a0-0', 'a0-1') for update`);
    const claims = new ClaimTable(runnerOf(pool), table, "hold");
    expect((await claims.claim(10, 1_000)).events).toEqual([]);
    await holder.query("rollback");
    holder.release();
    expect((await claims.claim(3, 1_000)).events.map(({ message }) => message.id)).toEqual(["a0-0", "a0-1", "a0-2"]);
    // Claimed by the other: its tail waits.
    expect((await claims.claim(10, 1_000)).events).toEqual([]);
  });

  test("two types with one id are two aggregates", async () => {
    const event = { aggregateId: "7", eventType: "t", destination: "d", payload: 1 };
    await insertOutbox(
      pool,
      [
        { ...event, aggregateType: "order", id: "o-0" },
        { ...event, aggregateType: "bill", id: "b-0" },
      ],
      { table },
    );
    const { arrived, transport } = collector(({ id }) => (id === "o-0" ? new Error("no") : null));
    await publishDue(options(transport, { backoff: { kind: "fixed", delayMs: 3_600_000, jitter: { kind: "none" } } }));
    expect(arrived).toEqual(["b-0"]);
  });
});

describe("failures", () => {
  test("a poison event is FAILED after maxAttempts and holds its aggregate", async () => {
    await insert(1, 3);
    const { arrived, transport, tries } = collector(({ id }) => (id === "a0-1" ? new Error("poison\0\ud800") : null));
    const failed: boolean[] = [];
    await publishDue(options(transport, { maxAttempts: 3, observer: { failed: ({ final }) => failed.push(final) } }));
    expect([arrived, tries.get("a0-1"), failed]).toEqual([["a0-0"], 3, [false, false, true]]);
    expect(await rows("id = 'a0-1'")).toMatchObject([
      { status: "FAILED", attempts: 3, last_error: "Error: poison\ufffd" },
    ]);
    expect(await outboxBacklog(pool, table)).toMatchObject({ waiting: 1, failed: 1 });
    // A person repairs the cause and requeues it.
    await pool.query(`update ${table} set status = 'NEW', attempts = 0 where status = 'FAILED'`);
    const second = collector();
    await publishDue(options(second.transport));
    expect(second.arrived).toEqual(["a0-1", "a0-2"]);
  });

  test("whenFailed release: the later events go on", async () => {
    await insert(1, 3);
    const { arrived, transport } = collector(({ id }) => (id === "a0-1" ? new Error("poison") : null));
    await publishDue(options(transport, { maxAttempts: 1, whenFailed: "release" }));
    expect(arrived).toEqual(["a0-0", "a0-2"]);
  });

  test("permanent: FAILED at the first refusal. retryAfterMs: not earlier than the receiver asked", async () => {
    await insert(2, 1);
    const transport: Transport = {
      publishMany: async (messages) =>
        messages.map(({ id }) => {
          return id === "a0-0"
            ? { ok: false, error: new Error("too large"), permanent: true }
            : { ok: false, error: new Error("busy"), retryAfterMs: 600_000 };
        }),
    };
    await publishDue(options(transport));
    expect(await ids("status = 'FAILED'")).toEqual(["a0-0"]);
    expect(await ids("status = 'NEW' and available_at > now() + interval '9 minutes'")).toEqual(["a1-0"]);
  });

  test("an outage counts no attempt, gives the claim back, and reaches the observer", async () => {
    await insert(1, 2);
    const transport: Transport = { publishMany: () => Promise.reject(new Error("ECONNREFUSED")) };
    await expect(publishDue(options(transport))).rejects.toThrow("ECONNREFUSED");
    expect(await rows("claim is null and status = 'NEW' and attempts = 0")).toHaveLength(2);
    const outages: unknown[] = [];
    const publisher = createOutboxPublisher(
      options(transport, { observer: { outage: ({ error }) => outages.push(error) } }),
    );
    await expect.poll(() => outages.length).toBeGreaterThan(2);
    await publisher.stop();
    expect(await rows("claim is null and status = 'NEW' and attempts = 0")).toHaveLength(2);
  });

  test("a transport that never answers is an outage, its signal aborts", async () => {
    await insert(1, 1);
    let aborted = false;
    const transport: Transport = {
      publishMany: (_, signal) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise(() => undefined);
      },
    };
    await expect(publishDue(options(transport, { publishTimeoutMs: 20 }))).rejects.toThrow(
      /did not answer within 20 ms/,
    );
    expect([aborted, await ids("claim is null")]).toEqual([true, ["a0-0"]]);
  });

  /** Sends by fromPublisher; a destination that is `hung` never answers and knows no signal. */
  const slowly = (arrived: string[], answerMs: (message: Message) => number) =>
    fromPublisher(async (message) => {
      const ms = answerMs(message);
      if (ms === HUNG) return new Promise(() => undefined);
      await systemClock.sleep(ms);
      arrived.push(message.id);
    });
  const HUNG = -1;

  test("of a wave of 500 with one send that never ends, the 499 that arrived are SENT and not sent again", async () => {
    await insert(500, 1);
    const arrived: string[] = [];
    const hung = slowly(arrived, ({ id }) => (id === "a7-0" ? HUNG : 0));
    expect(await publishDue(options(hung, { publishTimeoutMs: 2_000 }))).toBe(499);
    expect(await rows("status = 'NEW' and attempts = 0 and claim is null")).toMatchObject([{ id: "a7-0" }]);
    // It alone waits, and longer than a claim would: its next try holds none of the others up.
    expect(await ids("available_at > now() + interval '2 seconds'")).toEqual(["a7-0"]);
    await pool.query(`update ${table} set available_at = now()`);
    expect(await publishDue(options(slowly(arrived, () => 0)))).toBe(1);
    expect(arrived.toSorted()).toEqual(Array.from({ length: 500 }, (_, n) => `a${n}-0`).toSorted());
  });

  test("a receiver too slow for a whole wave gets a part of it in each, and nothing twice", async () => {
    await insert(150, 1);
    const arrived: string[] = [];
    // 32 at a time: 150 take 3.5 s.
    expect(
      await publishDue(
        options(
          slowly(arrived, () => 700),
          { publishTimeoutMs: 2_500 },
        ),
      ),
    ).toBe(150);
    expect(arrived.toSorted()).toEqual(Array.from({ length: 150 }, (_, n) => `a${n}-0`).toSorted());
    expect(await rows("status = 'SENT' and attempts = 1")).toHaveLength(150);
  });

  test("a receiver that hangs, with more events than are sent at a time, does not take the turn of the others", async () => {
    await insert(120, 1);
    await pool.query(`update ${table} set destination = 'hung' where seq <= 100`);
    const arrived: string[] = [];
    const tried: string[] = [];
    const failed = ({ event }: { event: Message }) => tried.push(event.id);
    const transport = slowly(arrived, ({ destination }) => (destination === "hung" ? HUNG : 0));
    const publisher = createOutboxPublisher(
      options(transport, { publishTimeoutMs: 2_000, batch: 40, concurrency: 1, observer: { failed } }),
    );
    await expect.poll(() => arrived.length).toBe(20);
    // The other 68 were put off by the answers of these.
    expect(tried).toHaveLength(32);
    await publisher.stop();
    expect(await ids("status = 'SENT'")).toEqual(Array.from({ length: 20 }, (_, n) => `a${n + 100}-0`));
    expect(await rows("destination = 'hung' and status = 'NEW' and attempts = 0")).toHaveLength(100);
  });

  test("Kafka: records that go one by one behind a refused one, slower than the time of a send, go once each", async () => {
    await insert(60, 1);
    const arrived: string[] = [];
    const producer = {
      // A producer of which each request takes 100 ms, and which refuses a-0 and each request that holds it.
      send: async ({ messages }: { messages: { headers: Map<Buffer, Buffer> }[] }) => {
        await systemClock.sleep(100);
        const sent = messages.map(({ headers }) => String([...headers.values()][0]));
        if (sent.includes("a0-0")) throw Object.assign(new Error("too large"), { code: "MESSAGE_TOO_LARGE" });
        arrived.push(...sent);
      },
    };
    expect(await publishDue(options(kafkaTransport(producer as never), { publishTimeoutMs: 3_000 }))).toBe(59);
    expect(arrived.toSorted()).toEqual(Array.from({ length: 59 }, (_, n) => `a${n + 1}-0`).toSorted());
    expect(await ids("status = 'FAILED'")).toEqual(["a0-0"]);
  });

  test.each([502, 503, 504, 429])("HTTP %d is an outage: no attempt counts, each wait is longer", async (status) => {
    await insert(2, 1);
    const transport = httpTransport({ url: "http://proxy", fetch: async () => answer(status) });
    const answer = (code: number) =>
      Object.defineProperty(new Response("", { status: code }), "url", { value: "http://proxy/d" });
    for (let n = 0; n < 3; n++) await expect(publishDue(options(transport, { maxAttempts: 1 }))).rejects.toThrow();
    expect(await rows("status = 'NEW' and attempts = 0 and claim is null")).toHaveLength(2);
    // With another receiver that answers, the proxy's own events wait, and only they.
    await pool.query(`update ${table} set destination = 'up' where id = 'a1-0'`);
    const fetch = async (url: URL | RequestInfo) => answer(String(url).endsWith("/up") ? 200 : status);
    expect(await publishDue(options(httpTransport({ url: "http://proxy", fetch }), { maxAttempts: 1 }))).toBe(1);
    expect(await ids("status = 'NEW' and attempts = 0 and available_at > now()")).toEqual(["a0-0"]);
  });

  test("a claim of a dead publisher is sent again after its lease, and a late result changes nothing", async () => {
    await insert(1, 1);
    const claims = new ClaimTable(runnerOf(pool), table, "hold");
    const { token } = await claims.claim(10, 60_000);
    const { arrived, transport } = collector();
    await publishDue(options(transport));
    expect(arrived).toEqual([]);
    await pool.query(`update ${table} set claimed_until = now() - interval '1 ms'`);
    const lost: string[][] = [];
    await publishDue(options(transport, { observer: { leaseLost: ({ ids }) => lost.push(ids) } }));
    expect([arrived, lost]).toEqual([["a0-0"], []]);
    expect(await claims.markSent(["a0-0"], token)).toEqual([]);
    await claims.markFailed([{ id: "a0-0", error: "late", delayMs: 0, final: true, counts: true }], token);
    expect(await ids("status = 'SENT' and last_error is null")).toEqual(["a0-0"]);
  });
});

describe("a lease that ends during a send", () => {
  test("is reported: another publisher has the events, and their results are its own", async () => {
    await insert(1, 1);
    const taken = "00000000-0000-4000-8000-000000000001";
    const transport = sendAll(() => undefined);
    const slow: Transport = {
      publishMany: async (messages, signal) => {
        await pool.query(`update ${table} set claim = '${taken}'`);
        return transport.publishMany(messages, signal);
      },
    };
    const lost: string[][] = [];
    expect(await publishDue(options(slow, { observer: { leaseLost: ({ ids }) => lost.push(ids) } }))).toBe(1);
    expect(lost).toEqual([["a0-0"]]);
    expect(await rows()).toMatchObject([{ status: "NEW", claim: taken }]);
  });

  test("nothing is sent when too little of the lease is left", async () => {
    await insert(1, 3);
    let now = 0;
    const clock = { ...systemClock, nowMs: () => now };
    const { arrived, transport } = collector();
    const slow: Transport = {
      publishMany: async (messages, signal) => {
        now += 70_000;
        return transport.publishMany(messages, signal);
      },
    };
    const claims: number[] = [];
    const observer = { sent: ({ count }: { count: number }) => claims.push(count) };
    await publishDue(options(slow, { clock, observer, leaseMs: 100_000, publishTimeoutMs: 40_000 }));
    // After 70 of 100 s a send of up to 40 s could outlast the lease: the next claim sends the next message.
    expect([arrived, claims]).toEqual([
      ["a0-0", "a0-1", "a0-2"],
      [1, 1, 1],
    ]);
    expect(await rows("attempts = 1 and claim is null")).toHaveLength(3);
  });
});

describe("the wait after a failed send", () => {
  test("is min(base x 2^n, cap) with the engine's jitter, by the database's clock", async () => {
    await insert(1, 1);
    const { transport } = collector(() => new Error("busy"));
    const backoff = {
      kind: "exponential",
      baseMs: 10_000,
      factor: 2,
      capMs: 30_000,
      jitter: { kind: "full" },
    } as const;
    const waits: number[] = [];
    for (let n = 0; n < 4; n++) {
      await pool.query(`update ${table} set available_at = now()`);
      await publishDue(
        options(transport, { backoff, random: () => 0.5, observer: { failed: ({ delayMs }) => waits.push(delayMs) } }),
      );
    }
    expect(waits).toEqual([5_000, 10_000, 15_000, 15_000]);
    const { rows } = await pool.query(`select extract(epoch from available_at - now())::float8 as s from ${table}`);
    expect(rows[0].s).toBeGreaterThan(10);
    expect(rows[0].s).toBeLessThanOrEqual(15);
  });
});

describe("sent rows", () => {
  test("are moved to the archive after their time, in batches; unsent ones stay", async () => {
    await insert(3, 3);
    await publishDue(options(collector().transport));
    await pool.query(
      `update ${table} set status = 'NEW' where id = 'a0-2'; update ${table} set status = 'FAILED' where id = 'a1-2'`,
    );
    const counts: number[] = [];
    const archive = "shop_outbox_archive";
    const broken: Transport = { publishMany: () => Promise.reject(new Error("down")) };
    const publisher = createOutboxPublisher(
      options(broken, { keepSentMs: 0, archive, observer: { archived: ({ count }) => counts.push(count) } }),
    );
    await expect.poll(() => counts).toEqual([7]);
    await publisher.stop();
    expect(await ids("true")).toEqual(["a0-2", "a1-2"]);
    expect((await pool.query(`select count(*)::int as n from ${archive}`)).rows[0].n).toBe(7);
  });
});

describe("options that cannot work", () => {
  test.each([
    [{ publishTimeoutMs: 20_000 }, /publishTimeoutMs .* at most half of leaseMs/],
    [{ batch: 0 }, /batch is 0: it must be a whole number from 1/],
    [{ maxAttempts: 1.5 }, /maxAttempts is 1.5/],
    [{ table: "a b" }, /table .* give a table name/],
  ])("%o", (change, message) => {
    expect(() => createOutboxPublisher(options(collector().transport, change))).toThrow(message);
  });
});

describe("chaos", () => {
  test("two publishers, random failures and outages: all arrive, in order, once", { retry: 0 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          aggregates: fc.integer({ min: 1, max: 12 }),
          each: fc.integer({ min: 1, max: 12 }),
          batch: fc.integer({ min: 1, max: 40 }),
          failEvery: fc.integer({ min: 2, max: 9 }),
          outageEvery: fc.integer({ min: 3, max: 9 }),
        }),
        async ({ aggregates, each, batch, failEvery, outageEvery }) => {
          await pool.query(`truncate ${table} restart identity`);
          const arrived: string[] = [];
          let sends = 0;
          let calls = 0;
          const transport = sendAll((message) => {
            if (++sends % failEvery === 0) throw new Error("refused");
            arrived.push(message.id);
          });
          const flaky: Transport = {
            publishMany: async (messages, signal) => {
              if (++calls % outageEvery === 0) throw new Error("down");
              return transport.publishMany(messages, signal);
            },
          };
          const half = Math.ceil(each / 2);
          await insert(aggregates, half);
          const publishers = [1, 2].map(() =>
            createOutboxPublisher(options(flaky, { batch, maxAttempts: 1_000_000, pollMs: 5, clock: hasty })),
          );
          const late = Array.from({ length: aggregates * (each - half) }, (_, at) => {
            const aggregateId = `a${at % aggregates}`;
            const id = `${aggregateId}-${half + Math.floor(at / aggregates)}`;
            return { id, aggregateId, eventType: "moved", destination: "d", payload: 1 };
          });
          await insertOutbox(pool, late, { table });
          await expect.poll(async () => (await ids("status = 'SENT'")).length).toBe(aggregates * each);
          await Promise.all(publishers.map((publisher) => publisher.stop()));
          expect(orderFaults(arrived)).toEqual([]);
          expect(arrived).toHaveLength(aggregates * each);
        },
      ),
      { numRuns: 12, endOnFailure: true },
    );
  });
});
