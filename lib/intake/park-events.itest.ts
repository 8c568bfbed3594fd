import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { reviveKeys } from "@/lib/intake/event-keys.write";
import { insertEvents, parkingOf } from "@/lib/intake/park.write";
import { parkEvents } from "@/lib/intake/park-events";
import { partitionDays } from "@/lib/intake/partitions.write";
import { type Clock, systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7, uuidv7TimeMs } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { auditGaps, rollupDrift } from "@/lib/testing/rollup-drift";
import { storeOpenSend } from "@/lib/testing/sends";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";

let database: TestDatabase;
let db: Db;

beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 8 });
  await addSource(db, "orders");
  await addSource(db, "billing");
});
afterEach(async () => {
  const [drift, gaps] = [await rollupDrift(db), await auditGaps(db)];
  await db.end();
  await database.drop();
  expect(drift).toEqual([]);
  expect(gaps).toEqual([]);
});

const letters = (count: number, change: (index: number) => Partial<DeadLetter> = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({
    source: "orders",
    letter: deadLetter({ eventId: `event-${index}`, aggregateId: `order-${index % 7}`, ...change(index) }),
  }));

/** The ten seconds that a batch waits for receipts take half a second. */
const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 20, signal) };
const park = (arrivals: { source: string; letter: DeadLetter }[]) =>
  parkEvents({ db, clock }, arrivals, localViewer("tester"));
const one = (change: Partial<DeadLetter> = {}) => park([{ source: "orders", letter: deadLetter(change) }]);

type Row = Record<string, unknown>;
const event = async (): Promise<Row> => (await db.query<Row>("select * from dlq_event_rows"))[0]!;
const audits = (action: string) => db.query<Row>("select * from audit_entries where action = $1 order by id", [action]);

async function addRedrive(state = "RUNNING"): Promise<string> {
  const id = uuidv7(Date.now());
  await db.run(
    `insert into redrives (id, state, mode, lane, selection, cutoff, slices, created_by, reason)
     values ($1, $2, 'deliver', 'slow', '{}', $1, 1, 'tester', 'test')`,
    [id, state],
  );
  return id;
}

/** Gives events the status that a redrive would have given them, with its rollups. */
async function moveEvents(ids: readonly unknown[], status: string): Promise<void> {
  await db.run(
    `with old as (select id, status from dlq_events where id = any($1::uuid[]))
     , moved as (update dlq_events e set status = $2 from old where e.id = old.id returning e.*, old.status as before)
     , levels as (insert into dlq_levels select source_id, error_code, s, date_trunc('hour', first_seen, 'UTC'), n
                    from moved, lateral (values (before, -1), ($2, 1)) d (s, n))
     , flow as (insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
                select date_trunc('minute', now(), 'UTC'), source_id, error_code, fingerprint, k, 1
                  from moved, (values ('REDRIVEN', 'redriven'), ('IGNORED', 'ignored')) d (s, k) where s = $2)
     insert into dlq_group_levels select fingerprint, source_id, s, n from moved, lateral (values (before, -1), ($2, 1)) d (s, n)`,
    [ids, status],
  );
}

/** Changes the event as a redrive would have done, with its rollups. */
async function move(status: string, item?: { redriveId: string; state: string; attempt?: boolean }): Promise<void> {
  const { id } = await event();
  await moveEvents([id], status);
  if (!item) return;
  await db.run(
    `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state, finished_at)
     select id, $2, 0, source_id, error_code, $3, now() from dlq_events where id = $1
     on conflict (id, redrive_id) do update set state = excluded.state`,
    [id, item.redriveId, item.state],
  );
  await db.run("delete from open_items where id = $1", [id]);
  if (item.state === "open")
    await db.run(
      `insert into open_items (id, redrive_id, slice, place, source_id, revision)
       select id, redrive_id, slice, 0, source_id, revision from redrive_items where id = $1 and redrive_id = $2`,
      [id, item.redriveId],
    );
  if (!item.attempt) return;
  if (item.state === "open") await storeOpenSend(db, { id: String(id), redriveId: item.redriveId });
  else await db.run("update redrive_items set sent_at = now() where id = $1 and redrive_id = $2", [id, item.redriveId]);
}

test("of two batches that revive the key of an event that has left the store, one gets it", async () => {
  await one();
  await db.run("delete from dlq_event_bodies");
  await db.run("delete from dlq_event_facts");
  const [{ source_id: sourceId }] = (await db.query<{ source_id: string }>(
    "delete from dlq_events returning source_id",
  )) as [{ source_id: string }];
  await db.run("truncate dlq_levels, dlq_flow, dlq_group_levels");
  const parking = () => parkingOf(uuidv7(Date.now()), sourceId, deadLetter());
  const [first, second] = [parking(), parking()];
  let other: Promise<Set<string>> | null = null;
  await db.transaction(async (tx) => {
    expect(await reviveKeys(tx, [first])).toEqual(new Set([first.id]));
    await insertEvents(tx, [first], Date.now());
    const entry = { actor: "tester", action: "event.parked", subjectKind: "event", subjectId: first.id } as const;
    await appendAudit(tx, {
      ...entry,
      before: null,
      after: { status: "PENDING" },
      count: 1,
      atMs: Date.now(),
      eventIds: [first.id],
    });
    other = db.transaction((later) => reviveKeys(later, [second]));
    await waitForLocks(db, 1);
  });
  expect(await other).toEqual(new Set());
  expect(await db.query("select id from event_keys")).toEqual([{ id: first.id }]);
});

describe("parking", () => {
  test("keeps every fact, and the payload and headers byte for byte", async () => {
    expect(await one()).toEqual(["parked"]);
    const row = await event();
    expect(row).toMatchObject({
      event_id: "event-1",
      aggregate_type: "order",
      aggregate_id: "order-77",
      version: 3,
      error_code: "UPSTREAM_5XX",
      status: "PENDING",
      attempts: 4,
      failed_at: Date.parse("2026-11-19T10:00:00.250Z"),
      last_error: "503 from stock-service for order-77",
      payload_bytes: 40,
      tags: { orderId: "77" },
    });
    expect(uuidv7TimeMs(row.id as string)).toBe(row.first_seen);
    const [body] = await db.query<Row>("select * from dlq_event_bodies where id = $1", [row.id]);
    expect(body).toMatchObject({
      payload: Buffer.from('{"orderId": 77, "big": 9007199254740993}'),
      content_type: "application/json",
      headers: [
        ["b", "1"],
        ["a", null],
        ["b", "2"],
      ],
      error_type: "com.acme.StockException",
      origin: { queue: "orders.dlq" },
    });
  });

  test("keeps payloads of any bytes and size in the order of arrival, and shows what text cannot hold", async () => {
    const sizes = [0, 1, 16_383, 16_384, 65_536, 1_048_576];
    const payloads = sizes.map((size) => Buffer.from(Array.from({ length: size }, (_, i) => (i * 31) & 0xff)));
    const error = { type: null, message: "bad \0 byte \ud800", stack: null };
    await park(letters(sizes.length, (index) => ({ payload: payloads[index]!, error })));
    const rows = await db.query<{ payload: Buffer }>("select payload from dlq_event_bodies order by id");
    expect(rows.map((row, index) => row.payload.equals(payloads[index]!))).toEqual(sizes.map(() => true));
    expect((await event()).last_error).toBe("bad \u2400 byte \ufffd");
  });

  test("makes the day's partition once when the janitor has not, and many need it at once", async () => {
    expect(await partitionDays(db)).toEqual([]);
    const outcomes = await Promise.all(letters(6).map((arrival) => park([arrival])));
    expect(outcomes.flat()).toEqual(Array(6).fill("parked"));
    expect(await partitionDays(db)).toHaveLength(1);
  });

  test("rejects a batch whose commit fails, and keeps nothing of it", async () => {
    await one();
    await db.run("create function refuse() returns trigger language plpgsql as 'begin raise exception ''full''; end'");
    await db.run(`create constraint trigger refuse after insert on event_keys deferrable initially deferred
      for each row execute function refuse()`);
    await expect(park(letters(3, (index) => ({ eventId: `later-${index}` })))).rejects.toThrow();
    await db.run("drop trigger refuse on event_keys");
    expect(await db.query("select * from event_keys")).toHaveLength(1);
    expect(await park(letters(3, (index) => ({ eventId: `later-${index}` })))).toEqual(Array(3).fill("parked"));
  });
});

describe("deduplication", () => {
  test("parks the same event once, within a batch and across batches, per source", async () => {
    const twice = [...letters(3), ...letters(3)];
    expect(await park(twice)).toEqual(["parked", "parked", "parked", "duplicate", "duplicate", "duplicate"]);
    expect(await park(letters(4))).toEqual(["duplicate", "duplicate", "duplicate", "parked"]);
    const elsewhere = ["billing", "nowhere"].map((source) => ({ source, letter: deadLetter({ eventId: "event-0" }) }));
    expect(await park(elsewhere)).toEqual(["parked", "unknown-source"]);
    const first = async () => (await db.query("select * from dlq_event_rows order by id limit 1"))[0];
    const before = await first();
    expect(await one({ eventId: "event-0", errorCode: "TIMEOUT", attempts: 9 })).toEqual(["duplicate"]);
    expect(await first()).toEqual(before);
  });

  test("parks each event exactly once when eight batches race for the same", { retry: 0 }, async () => {
    const shuffled = () => letters(300).sort(() => Math.random() - 0.5);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => park(shuffled())));
    expect(outcomes.flat().filter((outcome) => outcome === "parked")).toHaveLength(300);
    expect(outcomes.flat().filter((outcome) => outcome === "duplicate")).toHaveLength(2_100);
    expect(await db.query("select id from dlq_events")).toHaveLength(300);
    expect(await db.query("select id from dlq_event_bodies")).toHaveLength(300);
  });
});

describe("a bounce", () => {
  test("is the same event parked again: counted, audited, with the new failure", async () => {
    await one();
    const redriveId = await addRedrive();
    await move("REDRIVEN", { redriveId, state: "delivered" });
    const mark = { redriveId, attempt: 1 };
    expect(await one({ errorCode: "TIMEOUT", attempts: 2, redrive: mark })).toEqual(["bounced"]);
    expect(await event()).toMatchObject({
      status: "PENDING",
      bounces: 1,
      attempts: 6,
      error_code: "TIMEOUT",
      bounced_redrives: [redriveId],
      failures: 1,
    });
    expect(await audits("event.bounced")).toMatchObject([
      {
        actor: "tester",
        redrive_id: redriveId,
        before: { status: "REDRIVEN", errorCode: "UPSTREAM_5XX", bounces: 0 },
        after: { status: "PENDING", errorCode: "TIMEOUT", bounces: 1 },
      },
    ]);
    expect(await db.query<Row>("select bounced from redrives")).toEqual([{ bounced: 1 }]);
    expect(await db.query("select n from dlq_flow where kind = 'bounced'")).toEqual([{ n: 1 }]);
    // Delivered twice by the queue: counted once.
    expect(await one({ redrive: mark })).toEqual(["duplicate"]);
    expect((await event()).bounces).toBe(1);
  });

  test.each([
    ["topic", (offset: string) => ({ deadLetter: { topic: "orders.dlt", partition: 3, offset } })],
    [
      "SQS queue",
      (MessageId: string) => ({ deadLetter: { queue: "dead" }, properties: { MessageId, SentTimestamp: "4" } }),
    ],
  ])(
    "is none when a %s gives a letter again that is stored: the first one, or an earlier bounce",
    async (_, origin) => {
      const at = (place: string) => ({ origin: origin(place) });
      await one(at("41"));
      await move("REDRIVEN", { redriveId: await addRedrive(), state: "delivered" });
      expect(await one(at("41"))).toEqual(["duplicate"]);
      expect(await event()).toMatchObject({ status: "REDRIVEN", bounces: 0 });
      expect(await one(at("97"))).toEqual(["bounced"]);
      await move("REDRIVEN", { redriveId: await addRedrive(), state: "delivered" });
      expect(await one(at("97"))).toEqual(["duplicate"]);
      expect(await one(at("41"))).toEqual(["duplicate"]);
      expect(await event()).toMatchObject({ status: "REDRIVEN", bounces: 1 });
    },
  );

  test("is none when a queue gives again what its broker stored before the send, whatever its clock shows", async () => {
    // The broker's clock is a day behind.
    const died = Date.now() - 86_400_000;
    const at = (storedAtMs: number) => ({ origin: { deadLetter: { queue: "dead", storedAtMs } } });
    await one(at(died));
    const redriveId = await addRedrive();
    await move("REDRIVEN", { redriveId, state: "delivered", attempt: true });
    await db.run("update redrive_items set sent_at = now() + interval '10 minutes'");
    expect(await one(at(died))).toEqual(["duplicate"]);
    // Another letter of the same event, from before the send too.
    expect(await one(at(died + 240_000))).toEqual(["duplicate"]);
    expect(await one(at(died + 601_000))).toEqual(["bounced"]);
  });

  describe("whose letter has lost marks and id, and names a record that Parkade sent,", () => {
    const payload = Buffer.from('{"n":1}');
    const lost = (change: Partial<DeadLetter> = {}) => ({
      eventId: "kafka-made-of-its-offset",
      payload,
      failedRecord: "orders [3] offset 330",
      origin: { key: "b3JkZXItNw==" },
      ...change,
    });
    let redriveId: string;
    beforeEach(async () => {
      await one({ payload, origin: { key: "b3JkZXItNw==" } });
      redriveId = await addRedrive();
      await move("REDRIVEN", { redriveId, state: "delivered", attempt: true });
      await db.run("update redrive_items set sent_record = 'orders [3] offset 330'");
    });

    test("is none when it names another record, source or event; is that of its event, once", async () => {
      for (const [eventId, change, source] of [
        ["another record", { failedRecord: "orders [3] offset 331" }, "orders"],
        ["other bytes: its topic was made anew", { payload: Buffer.from('{"n":2}') }, "orders"],
        ["another key", { origin: { key: null } }, "orders"],
        ["another source: it may read another cluster", {}, "billing"],
      ] as const) {
        expect(await park([{ source, letter: deadLetter(lost({ ...change, eventId })) }]), eventId).toEqual(["parked"]);
      }
      // One that is stored as an event of its own.
      await db.run("update redrive_items set sent_record = null");
      expect(await one(lost({ eventId: "own" }))).toEqual(["parked"]);
      await db.run("update redrive_items set sent_record = 'orders [3] offset 330'");
      expect(await one(lost({ eventId: "own" }))).toEqual(["duplicate"]);

      expect(await one(lost())).toEqual(["bounced"]);
      const [back] = await db.query(
        "select status, bounces, bounced_redrives from dlq_event_rows where event_id = 'event-1'",
      );
      expect(back).toEqual({ status: "PENDING", bounces: 1, bounced_redrives: [redriveId] });
      expect(await one(lost())).toEqual(["duplicate"]);
    });
  });

  test("keeps what arrived first for ever: another payload that comes back is a revision, and the current one", async () => {
    await one();
    const first = async () => db.query<Row>("select * from dlq_event_bodies");
    const before = await first();
    await move("REDRIVEN");
    await one({ error: { type: "Again", message: "with the same bytes", stack: null } });
    expect(await db.query("select 1 from event_revisions")).toEqual([]);
    await move("REDRIVEN");
    const error = { type: "Other", message: "with other bytes", stack: "at Other" };
    await one({ payload: Buffer.from("other"), headers: [["new", "1"]], error });
    expect(await first()).toEqual(before);
    const { headers } = before[0]!;
    expect(
      await db.query("select revision, cause, base, bounce, actor, payload, headers from event_revisions"),
    ).toEqual([
      { revision: 2, cause: "bounce", base: 1, bounce: 2, actor: "tester", payload: Buffer.from("other"), headers },
    ]);
    expect(await event()).toMatchObject({ revision: 2, payload_bytes: 5 });
    expect(
      await db.query("select bounce, sent, error_type, error_detail, headers from event_bounces order by 1"),
    ).toEqual([
      { bounce: 1, sent: 1, error_type: "Again", error_detail: null, headers },
      { bounce: 2, sent: 1, error_type: "Other", error_detail: "at Other", headers: [["new", "1"]] },
    ]);
    const entries = await audits("event.bounced");
    expect(entries.map(({ after }) => (after as Row).revision)).toEqual([undefined, 2]);
  });

  test("keeps what it brought where the numbers of revisions end, and its neighbours are parked", async () => {
    await one();
    await move("REDRIVEN");
    const { id } = await event();
    await db.run(
      `insert into event_revisions (id, revision, cause, base, actor, at, payload, content_type)
       values ($1, 2147483647, 'edit', 1, 'ada', now(), 'mended', 'text/plain')`,
      [id],
    );
    const came = [deadLetter({ payload: Buffer.from("other") }), deadLetter({ eventId: "beside" })];
    expect(await park(came.map((letter) => ({ source: "orders", letter })))).toEqual(["bounced", "parked"]);
    expect(await db.query("select revision, cause from event_revisions order by 1")).toEqual([
      { revision: 2_147_483_646, cause: "bounce" },
      { revision: 2_147_483_647, cause: "edit" },
    ]);
  });

  test("is counted once when the queue delivers it to two consumers at once", async () => {
    await park(letters(50));
    const redriveId = await addRedrive();
    await db.run("update dlq_events set status = 'REDRIVEN'");
    await db.run("update dlq_levels set status = 'REDRIVEN'");
    await db.run(
      `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
       select minute, source_id, error_code, fingerprint, 'redriven', n from dlq_flow`,
    );
    await db.run("update dlq_group_levels set status = 'REDRIVEN'");
    const back = () => park(letters(50, () => ({ redrive: { redriveId, attempt: 1 } })));
    const outcomes = (await Promise.all([back(), back(), back()])).flat();
    expect(outcomes.filter((outcome) => outcome === "bounced")).toHaveLength(50);
    expect(await db.query("select distinct status, bounces from dlq_events")).toEqual([
      { status: "PENDING", bounces: 1 },
    ]);
    expect((await db.query<Row>("select bounced from redrives"))[0]).toEqual({ bounced: 50 });
  });

  test("takes as many statements in a storm as alone, though each has a redrive and an aggregate of its own", async () => {
    await db.run("insert into settings (key, value, updated_by) values ('aggregateFailureLimit', '1', 'ada')");
    let statements = 0;
    const counted: Db = {
      ...db,
      transaction: (work, options) =>
        db.transaction((tx) => {
          const count = (text: string, values?: readonly unknown[], settings?: object) => {
            statements++;
            return tx.query(text, values as unknown[], settings);
          };
          return work({
            ...tx,
            query: count as typeof tx.query,
            run: (...run) => {
              statements++;
              return tx.run(...run);
            },
          });
        }, options),
    };
    const storm = async (name: string, size: number): Promise<number> => {
      const of = (index: number, change: Partial<DeadLetter>) =>
        deadLetter({ eventId: `${name}-${index}`, aggregateId: `${name}-${index}`, ...change });
      const events = Array.from({ length: size }, (_, index) => index);
      await park(events.map((index) => ({ source: "orders", letter: of(index, {}) })));
      const redrives = await Promise.all(events.map(() => addRedrive()));
      const parked = await db.query<Row>("select id from dlq_events where event_id like $1", [`${name}-%`]);
      await moveEvents(
        parked.map(({ id }) => id),
        "REDRIVEN",
      );
      statements = 0;
      const back = events.map((index) => ({
        source: "orders",
        letter: of(index, { redrive: { redriveId: redrives[index]!, attempt: 1 } }),
      }));
      await parkEvents({ db: counted, clock }, back, localViewer("tester"));
      return statements;
    };
    // Until the store has its first aggregate, arrivals do not ask for processed versions.
    await storm("first", 1);
    const alone = await storm("one", 1);
    expect(await storm("many", 40)).toBe(alone);
    expect(await audits("event.bounced")).toHaveLength(42);
    expect(await audits("control.imposed")).toHaveLength(42);
  });
});

describe("what arrives is counted", () => {
  const flow = async () =>
    Object.fromEntries(
      (
        await db.query<{ kind: string; n: number }>(
          "select kind, sum(n)::bigint as n from dlq_flow group by 1 order by 1",
        )
      ).map(({ kind, n }) => [kind, n]),
    );

  test("once, as what it became: new, repeated in its batch, and come again", async () => {
    await park([...letters(3), ...letters(1)]);
    expect(await flow()).toEqual({ parked: 3, duplicate: 1 });
    await park(letters(5));
    expect(await flow()).toEqual({ parked: 5, duplicate: 4 });
    expect(
      await db.query("select distinct kind from dlq_flow where error_code is null or fingerprint is null"),
    ).toEqual([]);
  });
});

describe("a row that the store refuses", () => {
  test("refuses a whole batch where its messages stay at their broker, and counts nothing of it", async () => {
    await db.run("alter table dlq_events add constraint refuses check (event_id <> 'event-1')");
    const whole = letters(3);
    const parked = (arrivals: typeof whole) =>
      parkEvents({ db, clock: systemClock }, arrivals, localViewer("tester"), { whole: true });
    expect(await parked(whole)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await db.query("select count(*)::int as n from dlq_events")).toEqual([{ n: 0 }]);
    expect(await db.query("select kind from dlq_flow")).toEqual([]);
    expect(await parked([whole[1]!])).toEqual(["rejected"]);
    expect(await db.query("select kind from dlq_flow")).toEqual([]);
  });

  test("is rejected by its place, and its neighbours are stored", async () => {
    await db.run("alter table dlq_events add constraint refuses check (event_id <> 'event-4')");
    const outcomes = await park(letters(9));
    expect(outcomes.map((outcome) => outcome === "rejected")).toEqual(letters(9).map((_, index) => index === 4));
    expect(await db.query("select count(*) as n from dlq_events")).toEqual([{ n: 8 }]);
    expect(await park(letters(9))).toEqual([
      ...Array.from({ length: 4 }, () => "duplicate"),
      "rejected",
      ...Array.from({ length: 4 }, () => "duplicate"),
    ]);
  });

  test("is no bounce with more attempts than can be counted: the count stops, and the batch is stored", async () => {
    await one({ eventId: "event-0", attempts: 7 });
    await db.run("update dlq_events set attempts = 2147483000 where event_id = 'event-0'");
    const redriveId = await addRedrive();
    await move("REDRIVEN", { redriveId, state: "delivered" });
    const back = deadLetter({ eventId: "event-0", attempts: 2_147_483_647, redrive: { redriveId, attempt: 1 } });
    const outcomes = await park([...letters(1, () => ({ eventId: "other" })), { source: "orders", letter: back }]);
    expect(outcomes).toEqual(["parked", "bounced"]);
    expect(await db.query("select attempts from dlq_events where event_id = 'event-0'")).toEqual([
      { attempts: 2_147_483_647 },
    ]);
  });
});
