import pg from "pg";
import { inboxTableSql, processOnce } from "@/lib/kit/inbox/inbox";
import { createOutboxPublisher, insertOutbox, outboxTableSql, type Transport } from "@/lib/kit/outbox/outbox";
import { type Reading, scenario } from "./scenario";
import { startBenchStack } from "./stack";

/**
 * The outbox's publisher with order per aggregate, against the least that any publisher does on the same table: claim by
 * SELECT ... FOR UPDATE SKIP LOCKED and UPDATE, without order, leases or retries. Both hand over to nobody, so it is the
 * store's cost alone. And the statements that the inbox adds to the transaction of a message.
 *
 * PARKADE_BENCH_EVENTS (100,000) makes a quick run.
 */

const EVENTS = Number(process.env.PARKADE_BENCH_EVENTS ?? 100_000);
const AGGREGATES = Math.max(1, Math.floor(EVENTS / 50));
/** Behind one event that waits: what a claim must not walk through each time. */
const HELD = Math.floor(EVENTS / 5);
const BATCH = 500;
const CONCURRENCY = 2;
const MESSAGES = Math.min(2_000, EVENTS);

export const run = scenario({
  name: "outbox",
  open: async (atEnd) => {
    const stack = await startBenchStack();
    atEnd(stack.stop);
    const pool = new pg.Pool({ connectionString: stack.databaseUrl, max: 8 });
    // The server may end an idle connection before its close arrives.
    pool.on("error", () => undefined);
    atEnd(() => pool.end());
    return pool;
  },
  async *measure(pool) {
    const baseline = await publishing(pool, (count) => bare(pool, count));
    yield { name: "unordered", value: baseline.perSecond, unit: "events/s" };
    for (const [name, keepsOrder, load] of [
      ["by message", false, {}],
      ["by call", true, {}],
      ["with a held tail", false, { held: HELD }],
      ["one aggregate", true, { aggregates: 1 }],
    ] as const) {
      const { perSecond, outOfOrder } = await publishing(pool, (count) => ours(pool, { count, keepsOrder }), load);
      const unordered = { name: "of the unordered", value: baseline.perSecond };
      yield { name, value: perSecond, unit: "events/s", bound: { min: 5_000 }, baseline: unordered };
      yield { name: `${name}: out of order`, value: outOfOrder, unit: "events", bound: { max: 0 } };
    }
    yield* inboxCost(pool);
  },
});

/** The least that a publisher does: it claims and marks, and keeps no order. */
async function bare(pool: pg.Pool, count: number): Promise<number> {
  const lane = async () => {
    const client = await pool.connect();
    for (;;) {
      await client.query("begin");
      const { rows } = await client.query(
        `select id, payload, headers from bench_outbox where status = 'NEW' order by seq limit ${BATCH} for update skip locked`,
      );
      const ids = rows.map((row) => row.id);
      await client.query("update bench_outbox set status = 'SENT', sent_at = now() where id = any($1)", [ids]);
      await client.query("commit");
      if (ids.length === 0) return client.release();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  const { rows } = await pool.query("select count(*)::int as n from bench_outbox where status = 'SENT'");
  if (rows[0].n !== count) throw new Error(`the baseline sent ${rows[0].n} of ${count}`);
  return 0;
}

/** @returns how many arrived in another order than their aggregate's */
async function ours(pool: pg.Pool, { count, keepsOrder }: { count: number; keepsOrder: boolean }): Promise<number> {
  const next = new Map<string, number>();
  let arrived = 0;
  let outOfOrder = 0;
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const transport: Transport = {
    keepsOrder,
    publishMany: async (messages) => {
      for (const { aggregateId, id } of messages) {
        const nth = Number(id.split("-")[1]);
        if (nth !== (next.get(aggregateId) ?? 0)) outOfOrder++;
        next.set(aggregateId, nth + 1);
      }
      arrived += messages.length;
      if (arrived >= count) resolve();
      return messages.map(() => ({ ok: true }));
    },
  };
  const settings = { table: "bench_outbox", batch: BATCH, concurrency: CONCURRENCY, keepSentMs: null };
  const publisher = createOutboxPublisher({ pool, transport, ...settings });
  await all;
  await publisher.stop();
  return outOfOrder;
}

type Load = { aggregates?: number; held?: number };
type Publish = (count: number) => Promise<number>;

async function publishing(pool: pg.Pool, publish: Publish, { aggregates = AGGREGATES, held = 0 }: Load = {}) {
  await pool.query(`drop table if exists bench_outbox; ${outboxTableSql({ table: "bench_outbox" })}`);
  await fill(pool, held, () => "held");
  await pool.query("update bench_outbox set available_at = now() + interval '1 hour' where id = 'held-0'");
  await fill(pool, EVENTS, (n) => `a${n % aggregates}`);
  await pool.query("vacuum analyze bench_outbox");
  const start = performance.now();
  const outOfOrder = await publish(EVENTS);
  return { perSecond: (EVENTS / (performance.now() - start)) * 1000, outOfOrder };
}

async function fill(pool: pg.Pool, count: number, aggregateOf: (n: number) => string): Promise<void> {
  const nth = new Map<string, number>();
  const events = Array.from({ length: count }, (_, n) => {
    const aggregateId = aggregateOf(n);
    const own = nth.get(aggregateId) ?? 0;
    nth.set(aggregateId, own + 1);
    const payload = { id: n, text: "x".repeat(200) };
    return { id: `${aggregateId}-${own}`, aggregateId, eventType: "moved", destination: "orders", payload };
  });
  await insertOutbox(pool, events, { table: "bench_outbox", notify: false });
}

/** One message = one transaction with one effect, with the inbox and without it, in turn. */
async function* inboxCost(pool: pg.Pool): AsyncGenerator<Reading> {
  await pool.query(`${inboxTableSql({ table: "bench_inbox" })} create table bench_effects (id text)`);
  const client = await pool.connect();
  let statements = 0;
  const counting = {
    query: (text: string, values: unknown[]) => {
      statements++;
      return client.query(text, values);
    },
  };
  const effect = (tx: typeof counting, id: string) => tx.query("insert into bench_effects values ($1)", [id]);
  const cost = { bare: { statements: 0, ms: 0 }, once: { statements: 0, ms: 0 } };
  const consume = async (kind: "bare" | "once", id: string) => {
    statements = 0;
    const start = performance.now();
    await client.query("begin");
    if (kind === "bare") await effect(counting, id);
    else await processOnce(counting, "bench", id, (tx) => effect(tx, id), { table: "bench_inbox" });
    await client.query("commit");
    cost[kind].ms += performance.now() - start;
    cost[kind].statements += statements;
  };
  for (let n = 0; n < MESSAGES; n++) for (const kind of ["bare", "once"] as const) await consume(kind, `${kind}-${n}`);
  const more = (cost.once.statements - cost.bare.statements) / MESSAGES;
  client.release();
  yield { name: "inbox: statements more a message", value: more, unit: "statements", bound: { max: 1 } };
  const without = { name: "ms without it", value: cost.bare.ms / MESSAGES };
  yield { name: "inbox: a message", value: cost.once.ms / MESSAGES, unit: "ms", baseline: without };
}
