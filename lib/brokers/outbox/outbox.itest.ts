import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, eventually, readByDyingProcesses } from "@/lib/brokers/broker.conformance";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import {
  adapter,
  configOf,
  db,
  harness,
  makeTable,
  never,
  onPostgres,
  type Row,
  reading,
  redriveOf,
  rowOf,
  unique,
  urlFor,
  userWith,
} from "@/lib/brokers/outbox/testing/outbox-broker";
import type { OutboundMessage } from "@/lib/brokers/port";
import { insertOutbox } from "@/lib/kit/outbox/insert";
import { outboxTableSql } from "@/lib/kit/outbox/table";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

describe("outbox", () => {
  onPostgres();

  describeBroker("outbox", harness);

  const kitTable = async () => {
    const table = unique("outbox");
    await db.query(outboxTableSql({ table }));
    return { table, config: configOf({ table, layout: "parkade" }) };
  };
  const failInKit = async (table: string, count: number, payload: unknown = { total: 5 }) => {
    const ids = await insertOutbox(
      db,
      Array.from({ length: count }, (_, n) => ({
        aggregateType: "order",
        aggregateId: `order-${n}`,
        eventType: "OrderPlaced",
        destination: "orders",
        payload,
        headers: [["x-tenant", "eu"] as const],
      })),
      { table, notify: false },
    );
    await db.query(`update ${table} set status = 'FAILED', attempts = 9, last_error = 'TypeError: no total'`);
    return ids;
  };

  describe("a table without a parked status", () => {
    it("parks the failed rows of parkade/outbox and changes none of them", async () => {
      const { table, config } = await kitTable();
      const [id] = await failInKit(table, 1);
      const before = await rowOf(table, id!);
      await reading(config, async (parked) => {
        await eventually(() => parked.length).toBe(1);
        expect(parked[0]).toMatchObject({
          eventId: id,
          aggregateType: "order",
          aggregateId: "order-0",
          eventType: "OrderPlaced",
          errorCode: "CONSUMER_BUG",
          error: { type: "TypeError", message: "TypeError: no total" },
          attempts: 9,
          headers: [["x-tenant", "eu"]],
          origin: { convention: "outbox", table, rowId: id },
        });
        expect(Buffer.from(parked[0]!.payload).toString()).toBe('{"total":5}');
      });
      expect(await rowOf(table, id!)).toEqual(before);
    });

    it("offers each version of a row once, in the order of the table, also behind a redrive", async () => {
      const { table, config } = await kitTable();
      const ids = await failInKit(table, 1_200);
      await reading(config, async (parked) => {
        await eventually(() => parked.length).toBe(1_200);
        expect(parked.map(({ eventId }) => eventId)).toEqual(ids);
        // Later rows show that the earlier ones were passed over.
        const publisher = adapter.publisher(config);
        await publisher.publish(redriveOf(parked[3]!), never);
        await publisher.close();
        expect(await rowOf(table, ids[3]!)).toMatchObject({ status: "NEW", attempts: 0 });
        await db.query(`update ${table} set status = 'FAILED', attempts = 2 where id = $1`, [ids[3]]);
        await eventually(() => parked.length).toBe(1_201);
        expect(parked[1_200]).toMatchObject({
          eventId: ids[3],
          redrive: { redriveId: "018f9c4e-1111-7000-8000-000000000001", attempt: 1 },
        });
        const [later] = await failOne(table);
        await eventually(() => parked.length).toBe(1_202);
        expect(parked[1_201]!.eventId).toBe(later);
      });
    });

    const failOne = (table: string) =>
      insertOutbox(
        db,
        { aggregateId: "late", eventType: "Late", destination: "orders", payload: {} },
        { table, notify: false },
      ).then(async (ids) => {
        await db.query(`update ${table} set status = 'FAILED' where id = $1`, [ids[0]]);
        return ids;
      });

    it("finds a row that a long transaction commits behind newer ones, in a savepoint too", async () => {
      const { table, config } = await kitTable();
      await failInKit(table, 2);
      const client = await db.connect();
      await client.query("begin");
      await client.query("savepoint work");
      const [id] = await insertOutbox(
        client,
        { aggregateId: "slow", eventType: "Slow", destination: "orders", payload: {} },
        { table, notify: false },
      );
      await client.query(`update ${table} set status = 'FAILED' where id = $1`, [id]);
      await client.query("release savepoint work");
      await reading(config, async (parked) => {
        await eventually(() => parked.length).toBe(2);
        await failOne(table);
        await eventually(() => parked.length).toBe(3); // so a pass has gone by that did not see the open transaction
        await client.query("commit");
        client.release();
        await eventually(() => parked.map(({ eventId }) => eventId)).toContain(id);
        expect(parked).toHaveLength(4);
      });
    });

    it("keeps what cannot be committed, and goes on behind it", async () => {
      const { table, config } = await kitTable();
      const [bad] = await failInKit(table, 1);
      const parked: string[] = [];
      let refuses = true;
      const consumer = consumerOf(adapter, config, async (batch) => {
        const ids = batch.map(({ eventId }) => eventId);
        if (refuses && ids.includes(bad!)) throw new Error("cannot be stored");
        parked.push(...ids);
      });
      await eventually(() => consumer.state().lastError).toContain("could not be committed");
      refuses = false;
      await eventually(() => parked).toEqual([bad]);
      await consumer.stop();
    });
  });

  describe("kill -9 of a reader that has no parked status to set", () => {
    it.each(["before-commit", "before-acknowledgement"] as const)(
      "%s: the next process offers every dead row, and those that died meanwhile",
      async (dies) => {
        const { table, config } = await kitTable();
        const die = async (numbers: number[]) => {
          const events = numbers.map((n) => ({
            aggregateType: "order",
            aggregateId: `${n}`,
            eventType: "OrderPlaced",
            destination: "orders",
            payload: { n },
          }));
          const ids = await insertOutbox(db, events, { table, notify: false });
          await db.query(`update ${table} set status = 'FAILED', attempts = 9 where id = any($1)`, [ids]);
        };
        await die(Array.from({ length: 700 }, (_, n) => n)); // more than one batch
        let late: Promise<void> | null = null;
        const committed = await readByDyingProcesses("outbox", { config }, dies, async (payloads) => {
          // The first process is dead: another row dies, in a transaction that is newer than all it has read.
          late ??= die([700]);
          await late;
          return 701 - new Set(payloads.map(String)).size;
        });
        const offered = committed.map(({ payload }) => JSON.parse(String(payload)).n as number);
        expect(new Set(offered).size).toBe(701);
        expect(new Set(committed.map(({ eventId }) => eventId)).size).toBe(701);
        // What was committed by the first process comes again under its id, and the store knows it.
        expect(offered).toHaveLength(dies === "before-commit" ? 701 : 701 + 500);
        const { rows } = await db.query(`select distinct status from ${table}`);
        expect(rows).toEqual([{ status: "FAILED" }]);
      },
    );
  });

  describe("two workers with a parked status", () => {
    it("park every row, and mark each once", async () => {
      const table = await makeTable({ payload: "jsonb", headers: "jsonb", id: "uuid" });
      await db.query(
        `insert into ${table} (id, payload, status) select gen_random_uuid(), '{}', 'DEAD' from generate_series(1, 900)`,
      );
      const config = configOf({ table, parkedStatus: "PARKED" });
      const seen = new Set<string>();
      const park = async (batch: DeadLetter[]) => {
        for (const { eventId } of batch) seen.add(eventId);
      };
      const workers = [1, 2].map(() => consumerOf(adapter, config, park));
      await eventually(() => seen.size).toBe(900);
      const left = () => db.query(`select from ${table} where status <> 'PARKED'`).then(({ rowCount }) => rowCount);
      await eventually(left).toBe(0);
      await Promise.all(workers.map((worker) => worker.stop()));
    });

    it("leaves a row alone that failed again between its reading and its mark", async () => {
      const table = await makeTable({ payload: "jsonb", headers: "jsonb", id: "text" });
      await db.query(`insert into ${table} (id, payload, status, last_error) values ('a', '{}', 'DEAD', 'first')`);
      const commit = Promise.withResolvers<void>();
      const errors: (string | null)[] = [];
      const consumer = consumerOf(adapter, configOf({ table, parkedStatus: "PARKED" }), async ([letter]) => {
        errors.push(letter!.error.message);
        await commit.promise;
      });
      await eventually(() => errors).toEqual(["first"]);
      await db.query(`update ${table} set last_error = 'second'`);
      commit.resolve();
      await eventually(() => errors).toEqual(["first", "second"]);
      await eventually(async () => (await rowOf(table, "a")).status).toBe("PARKED");
      await consumer.stop();
    });
  });

  describe("a redrive", () => {
    const parkOne = (config: OutboxConfig) =>
      reading(config, async (parked) => {
        await eventually(() => parked.length).toBe(1);
        return parked[0]!;
      });

    it.each([
      { payload: "jsonb", headers: "jsonb", id: "uuid", value: "0198a7f0-0000-7000-8000-000000000001" },
      { payload: "json", headers: "text", id: "bigint", value: "42" },
      { payload: "text", headers: "text", id: "text", value: "a'b\"c" },
    ] as const)("writes id $id, payload $payload, headers $headers in place, and nothing else", async (form) => {
      const table = await makeTable(form);
      const headers = '{"x-count": 12345678901234567890, "x-tenant": "eu", "x-error-code": "TIMEOUT"}';
      await db.query(
        `insert into ${table} (id, aggregate_id, payload, headers, status, attempts, last_error) values ($1, 'o-1', $2, $3, 'DEAD', 7, 'x')`,
        [form.value, '{"b":1,  "a":12345678901234567890}', headers],
      );
      const config = configOf({ table, parkedStatus: "PARKED" });
      const before = await rowOf(table, form.value);
      const letter = await parkOne(config);
      expect(letter).toMatchObject({ eventId: form.value, aggregateId: "o-1", errorCode: "TIMEOUT" });
      await eventually(async () => (await rowOf(table, form.value)).status).toBe("PARKED");
      const publisher = adapter.publisher(config);
      await publisher.publish(redriveOf(letter, { attempt: 2 }), never);
      const after = await rowOf(table, form.value);
      expect(after).toMatchObject({ ...before, status: "PENDING", attempts: 0, ...changedBy(after) });
      const { rows } = await db.query(
        `select headers::jsonb - '{x-redrive-id,x-redrive-event-id}'::text[] as rest, headers::jsonb ->> 'x-count' as count,
           next_attempt_at <= now() as due, payload::text as text from ${table}`,
      );
      expect(rows).toEqual([
        {
          rest: expect.objectContaining({ "x-tenant": "eu", "x-redrive-attempt": "2", "x-redrive-from": "orders" }),
          count: "12345678901234567890",
          due: true,
          text: form.payload === "jsonb" ? '{"a": 12345678901234567890, "b": 1}' : '{"b":1,  "a":12345678901234567890}',
        },
      ]);
      expect(rows[0].rest).not.toHaveProperty("x-error-code");
      // A repeat of the same redrive whose answer was lost finds its own mark; another redrive is refused.
      await expect(publisher.publish(redriveOf(letter, { attempt: 3 }), never)).resolves.toMatchObject({
        status: expect.stringContaining("already"),
      });
      const other = { redriveId: "018f9c4e-9999-7000-8000-000000000009" };
      await expect(publisher.publish(redriveOf(letter, other), never)).rejects.toMatchObject({
        code: "OUTBOX_ROW_CHANGED",
        sent: "no",
        message: expect.stringContaining("is PENDING"),
      });
      await db.query(`delete from ${table}`);
      await expect(publisher.publish(redriveOf(letter, other), never)).rejects.toMatchObject({
        code: "OUTBOX_ROW_GONE",
        sent: "no",
      });
      await publisher.close();
    });
    const changedBy = ({ headers, next_attempt_at }: Row) => ({ headers, next_attempt_at });

    it("writes an edited payload, and needs no permission for the payload without an edit", async () => {
      const table = await makeTable({ payload: "jsonb", headers: "jsonb", id: "text" });
      await db.query(`insert into ${table} (id, payload, status) values ('a', '{"n":1}', 'DEAD')`);
      const user = await userWith([
        `select on ${table}`,
        `update (status, attempts, next_attempt_at, headers) on ${table}`,
      ]);
      const config = configOf({ table, url: urlFor({ user, password: "hunter2" }) });
      const letter = await parkOne(config);
      const limited = adapter.publisher(config);
      const edited = redriveOf(letter, { payload: Buffer.from('{"n":2}') });
      await expect(limited.publish(edited, never)).rejects.toMatchObject({ code: "42501", sent: "no" });
      await limited.publish(redriveOf(letter), never);
      expect(await rowOf(table, "a")).toMatchObject({ status: "PENDING", payload: { n: 1 } });
      await limited.close();
      await db.query(`update ${table} set status = 'DEAD'`);
      const full = adapter.publisher(configOf({ table }));
      await expect(full.publish(redriveOf(letter, { payload: Buffer.from([0xff]) }), never)).rejects.toMatchObject({
        code: "OUTBOX_PAYLOAD",
        sent: "no",
      });
      await expect(full.publish(redriveOf(letter, { payload: Buffer.from("{") }), never)).rejects.toMatchObject({
        code: "22P02",
        sent: "no",
      });
      await full.publish(edited, never);
      expect(await rowOf(table, "a")).toMatchObject({ status: "PENDING", payload: { n: 2 } });
      // The first revision is restored: the row holds the second.
      await db.query(`update ${table} set status = 'DEAD'`);
      await full.publish(redriveOf(letter, { revised: true }), never);
      expect(await rowOf(table, "a")).toMatchObject({ status: "PENDING", payload: { n: 1 } });
      await full.close();
    });

    it.each(["jsonb", "text"] as const)(
      "writes what was edited in an object of headers (%s), and no other value",
      async (headers) => {
        const table = await makeTable({ payload: "jsonb", headers, id: "text" });
        const held = '{"x-count": 12345678901234567890, "x-tenant": "eu", "x-gone": 1, "x-many": {"a": [1, true]}}';
        await db.query(`insert into ${table} (id, payload, headers, status) values ('a', '{}', $1, 'DEAD')`, [held]);
        const config = configOf({ table });
        const letter = await parkOne(config);
        const publisher = adapter.publisher(config);
        const send = async (change: Parameters<typeof redriveOf>[1]) => {
          await db.query(`update ${table} set status = 'DEAD'`);
          await publisher.publish(redriveOf(letter, { revised: true, ...change }), never);
          const { rows } = await db.query(
            `select headers::jsonb ->> 'x-count' as count, headers::jsonb as all from ${table}`,
          );
          const { "x-count": _, ...all } = rows[0].all;
          return { count: rows[0].count, all: Object.entries(all).filter(([name]) => !name.startsWith("x-redrive-")) };
        };
        const edit: OutboundMessage["headers"] = letter.headers.flatMap(([name, value]): OutboundMessage["headers"] =>
          name === "x-gone" ? [] : [[name, name === "x-tenant" ? "us" : value]],
        );
        const sent = await send({ headers: [...edit, ["x-new", "7"], ["x-none", null]] });
        expect(sent.count).toBe("12345678901234567890");
        expect(Object.fromEntries(sent.all)).toEqual({
          ...{ "x-tenant": "us", "x-many": { a: [1, true] }, "x-new": "7", "x-none": null },
        });
        // The first revision is restored: the row holds the headers of the second.
        const restored = await send({ headers: letter.headers });
        expect(restored.count).toBe("12345678901234567890");
        expect(Object.fromEntries(restored.all)).toEqual({
          "x-tenant": "eu",
          "x-gone": "1",
          "x-many": { a: [1, true] },
        });
        await publisher.close();
      },
    );

    it("lets one of many redrives of a row win", async () => {
      const { table, config } = await kitTable();
      await failInKit(table, 1);
      const letter = await parkOne(config);
      const publishers = [1, 2, 3].map(() => adapter.publisher(config));
      const outcomes = await Promise.allSettled(
        publishers.map((publisher, n) =>
          publisher.publish(redriveOf(letter, { redriveId: `018f9c4e-000${n}-7000-8000-000000000001` }), never),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      await Promise.all(publishers.map((publisher) => publisher.close()));
    });
  });

  it("reads any names: quoted, never as a part of a statement", async () => {
    const schema = unique('sch "ema');
    const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
    const evil = `st"; drop table x; --`;
    await db.query(`create schema ${quote(schema)}`);
    await db.query(
      `create table ${quote(schema)}."Out Box" ("Id" text primary key, "Pay;load" json, ${quote(evil)} text)`,
    );
    await db.query(`insert into ${quote(schema)}."Out Box" values ('a', '1', 'a''b')`);
    const config = configOf({
      table: `${schema}.Out Box`,
      columns: { id: "Id", payload: "Pay;load", status: evil },
      deadStatuses: ["a'b"],
      newStatus: "n'ew",
    });
    await reading(config, async (parked) => {
      await eventually(() => parked.length).toBe(1);
      const publisher = adapter.publisher(config);
      await publisher.publish(redriveOf(parked[0]!), never);
      await publisher.close();
    });
    const { rows } = await db.query(`select ${quote(evil)} as status from ${quote(schema)}."Out Box"`);
    expect(rows).toEqual([{ status: "n'ew" }]);
  });

  it("takes rows that were tried too often, and the layout of Debezium with a status of its own", async () => {
    const table = unique("outbox");
    await db.query(`create table ${table} (id uuid primary key, aggregatetype varchar(255), aggregateid varchar(255),
      type varchar(255), payload jsonb, status text default 'NEW', attempts int default 0)`);
    await db.query(`insert into ${table} values (gen_random_uuid(), 'order', 'o-1', 'Placed', '{}', 'NEW', 9),
      (gen_random_uuid(), 'order', 'o-2', 'Placed', '{}', 'NEW', 10)`);
    const config = configOf({ table, layout: "debezium", attemptsMax: 10 });
    await reading(config, async (parked) => {
      await eventually(() => parked.map(({ aggregateId }) => aggregateId)).toEqual(["o-2"]);
      const publisher = adapter.publisher(config);
      await publisher.publish(redriveOf(parked[0]!), never);
      await publisher.close();
    });
    const { rows } = await db.query(`select attempts from ${table} order by aggregateid`);
    expect(rows).toEqual([{ attempts: 9 }, { attempts: 0 }]);
    await db.query(`alter table ${table} drop column status`);
    expect(await adapter.probe(config, never)).toMatchObject({
      reachable: false,
      detail: expect.stringContaining("A table that only Debezium reads has no status"),
    });
  });

  it("says beside the probe that redrives lack a permission", async () => {
    const { table, config } = await kitTable();
    const user = await userWith([`select on ${table}`]);
    expect(await adapter.probe({ ...config, url: urlFor({ user, password: "hunter2" }) }, never)).toMatchObject({
      reachable: true,
      detail: expect.stringMatching(
        /redrives would fail: the user may not UPDATE status, attempts, available_at, headers/,
      ),
    });
  });
});
