import { beforeEach, describe, expect, test } from "vitest";
import { inboxTableSql } from "@/lib/kit/inbox/process-once";
import type { SqlSession } from "@/lib/kit/sql";
import { LIBRARIES } from "@/lib/kit/testing/libraries";
import { servicePoolOfFile } from "@/lib/testing/service-pool";
import { insertOutbox } from "./insert";
import { outboxTableSql } from "./table";

const table = "shop_outbox";

const pool = servicePoolOfFile(4, outboxTableSql({ table }));
beforeEach(() => pool.query(`truncate ${table} restart identity`));

const event = {
  id: "order-77-v3",
  aggregateType: "order",
  aggregateId: "77'; drop table x --?",
  eventType: "order.paid",
  destination: "orders",
  payload: { total: "12.50 €", note: "what? $1 ?? :name" },
  headers: [
    ["traceparent", "00-1-2-01"],
    ["raw", new Uint8Array([0, 255])],
    ["none", null],
    ["traceparent", ""],
  ] as const,
};

class Rollback extends Error {}

describe.each(Object.keys(LIBRARIES))("in a transaction of %s", (library) => {
  const transaction = (work: (tx: SqlSession) => Promise<unknown>) =>
    LIBRARIES[library]!(pool, pool.options.connectionString!, work);

  test("the event is inserted as it is, and the later ones behind it", async () => {
    await transaction(async (tx) => {
      expect(await insertOutbox(tx, event, { table })).toEqual(["order-77-v3"]);
      await insertOutbox(
        tx,
        [
          { ...event, id: "b" },
          { ...event, id: "c", payload: new Uint8Array([0, 1]) },
        ],
        { table },
      );
    });
    const { rows } = await pool.query(`select * from ${table} order by seq`);
    expect(rows.map(({ id }) => id)).toEqual(["order-77-v3", "b", "c"]);
    expect(rows[0]).toMatchObject({ status: "NEW", attempts: 0, aggregate_id: event.aggregateId, message_key: null });
    expect(JSON.parse(rows[0].payload.toString())).toEqual(event.payload);
    expect(rows[0].headers).toEqual([
      ["traceparent", "00-1-2-01"],
      ["raw", "AP8=", "bytes"],
      ["none", null],
      ["traceparent", ""],
    ]);
    expect(rows[2].payload).toEqual(Buffer.from([0, 1]));
  });

  test("a rollback takes the event back", async () => {
    const failing = transaction(async (tx) => {
      await insertOutbox(tx, event, { table });
      throw new Rollback();
    });
    await expect(failing).rejects.toThrow(Rollback);
    expect((await pool.query(`select id from ${table}`)).rows).toEqual([]);
  });
});

describe("the order of an aggregate", () => {
  test("lockAggregate: a second transaction waits for the first, and comes behind it", async () => {
    const [first, second] = [await pool.connect(), await pool.connect()];
    await first.query("begin");
    await second.query("begin");
    await insertOutbox(first, { ...event, id: "first" }, { table, lockAggregate: true });
    const waiting = insertOutbox(second, { ...event, id: "second" }, { table, lockAggregate: true });
    const blocked = "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted";
    await expect.poll(async () => (await pool.query(blocked)).rows[0].n).toBe(1);
    await first.query("commit");
    await waiting;
    await second.query("commit");
    first.release();
    second.release();
    const { rows } = await pool.query(`select id from ${table} order by seq`);
    expect(rows.map(({ id }) => id)).toEqual(["first", "second"]);
  });

  test("more events than one statement takes keep their order", async () => {
    const events = Array.from({ length: 2_345 }, (_, n) => ({ ...event, id: `e${n}` }));
    await insertOutbox(pool, events, { table });
    const { rows } = await pool.query(`select id from ${table} order by seq`);
    expect(rows.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });
});

describe("bad input names the field and the fix", () => {
  test.each([
    [{ aggregateId: "" }, /aggregateId .* give a text/],
    [{ destination: undefined }, /destination .* give a text/],
    [{ payload: undefined }, /payload .* give bytes, text or JSON/],
  ])("%o", async (change, message) => {
    await expect(insertOutbox(pool, { ...event, ...(change as object) }, { table })).rejects.toThrow(message);
  });

  test("a table that is no name, a tx that runs no SQL", async () => {
    await expect(insertOutbox(pool, event, { table: 'a"; drop' })).rejects.toThrow(/table .* give a table name/);
    await expect(insertOutbox({} as never, event)).rejects.toThrow(/tx cannot run SQL/);
  });
});

test("the version of the aggregate has a column, and goes out as a header; a table of before gets the column", async () => {
  await pool.query(
    "create table old_outbox (like shop_outbox including all); alter table old_outbox drop column version",
  );
  await insertOutbox(pool, { ...event, id: "none" }, { table: "old_outbox" });
  await pool.query(`delete from old_outbox; ${outboxTableSql({ table: "old_outbox" })}`);
  await insertOutbox(pool, { ...event, headers: [], version: 9_007_199_254_740_993n }, { table: "old_outbox" });
  const { rows } = await pool.query("select version, headers from old_outbox");
  expect(rows).toEqual([{ version: "9007199254740993", headers: [["event-version", "9007199254740993"]] }]);
  await expect(insertOutbox(pool, { ...event, version: 1.5 }, { table })).rejects.toThrow(
    "version of the outbox event is 1.5",
  );
});

test("making the tables again waits for no transaction that writes to them", async () => {
  const sql = outboxTableSql({ table, archive: "shop_outbox_archive" }) + inboxTableSql({ table: "shop_inbox" });
  await pool.query(sql);
  const client = await pool.connect();
  await client.query("begin; lock table shop_outbox, shop_outbox_archive, shop_inbox in row exclusive mode");
  await pool.query(`set lock_timeout = '100ms'; ${sql}`);
  await client.query("rollback");
  client.release();
});
