import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AggregateName } from "@/lib/order/aggregate.pure";
import { type BouncedAggregate, countAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import type { Db, Tx } from "@/lib/platform/database/db";
import { cancelOpenItems, refuseQueuedItems } from "@/lib/redrive/life/withdraw-items.write";
import { createAttempts } from "@/lib/redrive/run/attempts";
import { closeItems, insertAttempts } from "@/lib/redrive/run/store/finish-items.write";
import { type AttemptIntent, attemptKey, readEarlierAttempts } from "@/lib/redrive/run/store/intents.write";
import { itemsBehind, wakeBehind } from "@/lib/redrive/run/store/item-waits.write";
import { readSliceItems, readSliceRest, SLICE_START, type SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import {
  abandonSlices,
  freeForgottenSlices,
  freeLostSlices,
  ownedSlices,
  releaseSlices,
  takeSlices,
} from "@/lib/redrive/run/store/slice-owners.write";
import { readSentTo } from "@/lib/redrive/targets/routes.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";
import { endOf, intend } from "@/lib/testing/sends";
import { loseSlices, takeItems, WORKER } from "@/lib/testing/slice-items";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";

let world: World;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
});
afterEach(() => world.close());

const OTHER = "00000000-0000-7000-8000-0000000000bb";

/** The items of a redrive with a single slice, which a worker has taken. */
function take(redriveId: string, { limit = 100, workerId = WORKER } = {}): Promise<SliceItem[]> {
  return takeItems(world.db, { redriveId, slices: [0, 0], limit, workerId });
}

const ofSlice = (redriveId: string, workerId = WORKER) => ({ redriveId, slices: [0, 0] as [number, number], workerId });

const eventIds = (items: readonly SliceItem[]) => items.map((item) => item.eventId).sort();

function intentOf(item: SliceItem, change: Partial<AttemptIntent> = {}): AttemptIntent {
  return {
    ...item,
    attempt: 1,
    target: "orders",
    targetId: item.sourceId,
    idempotencyKey: `${item.source}:${item.eventId}`,
    passes: false,
    whitelisted: false,
    ...change,
  };
}

const opened = async (item: SliceItem, change: Partial<AttemptIntent> = {}) =>
  (await intend(world.db, [intentOf(item, change)])).size === 1;

/** Ends an item, or gives it back, as its worker does. Returns the ids of those that were changed. */
function end(item: SliceItem, outcome: ItemOutcome): Promise<Set<string>> {
  const finish = { item, outcome, after: null, attempts: item.attempts, findings: [], closes: [], entryId: null };
  return world.db.transaction((tx) => closeItems(tx, item.redriveId, [finish]));
}

/** Ends an item and its event as delivered. */
async function deliver(item: SliceItem): Promise<void> {
  await end(item, { kind: "delivered", code: "HTTP 200" });
  await world.db.run("update dlq_events set status = 'REDRIVEN' where id = $1", [item.id]);
  await mendAllLines(world.db);
}

async function freeze(...eventIdsWanted: string[]): Promise<string> {
  const select = { ids: await world.idsOf(eventIdsWanted) };
  return (await world.request({ select, earlier: "pass" })).id;
}

/** More open items of the first slice, without events. `notBefore`: SQL of what they wait for. */
async function fill(redriveId: string, count: number, notBefore: string): Promise<void> {
  await world.db.run(
    `insert into open_items
     select filled.*
       from open_items i, (select uuidv7() as id from generate_series(1, ${count})) n,
            lateral jsonb_populate_record(i, jsonb_build_object('id', n.id, 'not_before', ${notBefore})) filled
      where i.id = (select id from open_items where redrive_id = $1 limit 1)`,
    [redriveId],
  );
}

describe("a slice", () => {
  test("has one owner, whoever asks at the same moment", async () => {
    await world.park(3);
    const { id } = await world.request();
    const workers = Array.from({ length: 6 }, (_, index) => `00000000-0000-7000-8000-00000000000${index}`);
    const taken = await Promise.all(workers.map((workerId) => take(id, { workerId })));
    expect(taken.map((items) => items.length).sort()).toEqual([0, 0, 0, 0, 0, 3]);
  });

  test("is taken again by the worker whose answer was lost, under a higher epoch, and by another one once it is given back", async () => {
    await world.park(1);
    const { id } = await world.request();
    const epoch = async (workerId: string) => (await takeSlices(world.db, ofSlice(id, workerId)))?.get(0) ?? null;
    const first = await epoch(WORKER);
    expect(first).toBe(1n);
    expect(await epoch(OTHER)).toBeNull();
    const again = await epoch(WORKER);
    expect(again).toBeGreaterThan(first!);
    const release = (workerId: string, of: bigint) =>
      releaseSlices(world.db, { redriveId: id, workerId, epochs: new Map([[0, of]]) });
    // Not by a worker that does not own it, nor by a release of before that is committed late.
    await release(OTHER, again!);
    await release(WORKER, first!);
    expect(await epoch(OTHER)).toBeNull();
    await release(WORKER, again!);
    expect(await epoch(OTHER)).toBeGreaterThan(again!);
  });

  test("that its worker takes again with sends under way makes them ambiguous attempts, as giving it up does", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    expect(await opened(item!)).toBe(true);
    expect(await take(id)).toMatchObject([{ attempts: 1 }]);
  });

  test("is taken with all others that a job asks for, or none of them is", async () => {
    await world.park(1);
    const { id } = await world.request();
    await takeSlices(world.db, { redriveId: id, slices: [1, 1], workerId: OTHER });
    expect(await takeSlices(world.db, { redriveId: id, slices: [0, 2], workerId: WORKER })).toBeNull();
    const owned = await world.db.query("select slice, owner from slice_owners where owner is not null");
    expect(owned).toEqual([{ slice: 1, owner: OTHER }]);
  });

  test("that changes its owner while both live refuses intents and ends of the former, also those that wait for its row, or come in one call with the present one's", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [former] = await take(id);
    const givenUp = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const change = world.db.transaction(async (tx) => {
      await abandonSlices(tx, ofSlice(id));
      givenUp.resolve();
      await commit.promise;
    });
    await givenUp.promise;
    const waiting = [intend(world.db, [intentOf(former!)]), end(former!, { kind: "back" })];
    try {
      await waitForLocks(world.db, 1);
    } finally {
      commit.resolve();
      await change;
    }
    expect(await Promise.all(waiting)).toEqual([new Set(), new Set()]);

    const [present] = await take(id, { workerId: OTHER });
    expect(present!.fence).toBeGreaterThan(former!.fence);
    const both = [intentOf(former!), intentOf(present!)];
    const keys = await intend(world.db, both);
    expect(both.map((intent) => keys.has(attemptKey(intent)))).toEqual([false, true]);
    expect(await end(former!, { kind: "back" })).toEqual(new Set());
    expect(await end(present!, { kind: "back" })).toEqual(new Set([present!.id]));
  });
});

describe("a page", () => {
  const due = (eventId: string, notBefore: string) =>
    world.db.run(
      `update open_items i set not_before = ${notBefore} from dlq_events e where e.id = i.id and e.event_id = $1`,
      [eventId],
    );

  test("is empty while the redrive does not run, is held or waits for its time, by the database's clock", async () => {
    await world.park(1);
    const { id } = await world.request({ holdMs: 60_000 });
    const set = (change: string) => world.db.run(`update redrives set ${change} where id = $1`, [id]);
    expect(await take(id)).toEqual([]);
    await set("hold_until = now(), start_at = now() + interval '1 hour'");
    expect(await take(id)).toEqual([]);
    await set("start_at = now(), state = 'PAUSED'");
    expect(await take(id)).toEqual([]);
    await set("state = 'RUNNING'");
    expect(await take(id)).toHaveLength(1);
  });

  test("goes on where the last one ended: by version first, events without one last, then by the time they were parked", async () => {
    const versions = [null, 7n, 2n, null, -1n];
    await world.park(5, (index) => ({ aggregateId: "order-1", version: versions[index]! }));
    const { id } = await world.request();
    const epochs = (await takeSlices(world.db, ofSlice(id)))!;
    const order: string[] = [];
    let after = SLICE_START;
    for (let turn = 0; turn < 4; turn++) {
      const page = await readSliceItems(world.db, { ...ofSlice(id), epochs, after, limit: 2, withoutSources: [] });
      order.push(eventIds(page.items).join(" "));
      after = page.after;
    }
    expect(order).toEqual(["event-0002 event-0004", "event-0000 event-0001", "event-0003", ""]);
  });

  test("begins with what is due, and leaves out what waits and the sources that take no sends", async () => {
    await world.source("billing");
    await world.park(5, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    await world.park(2, (index) => ({ eventId: `elsewhere-${index}` }), "billing");
    const { id } = await world.request();
    await due("event-0001", "now() + interval '1 hour'");
    await due("event-0002", "'infinity'");
    await due("event-0004", "now() - interval '1 second'");
    await due("elsewhere-0", "now() - interval '1 second'");
    const [billing] = await world.db.query<{ id: string }>("select id from sources where name = 'billing'");
    const epochs = (await takeSlices(world.db, ofSlice(id)))!;
    const page = async (limit: number) =>
      eventIds(
        (
          await readSliceItems(world.db, {
            ...ofSlice(id),
            epochs,
            after: SLICE_START,
            limit,
            withoutSources: [billing!.id],
          })
        ).items,
      );
    expect(await page(1)).toEqual(["event-0004"]);
    expect(await page(100)).toEqual(["event-0000", "event-0003", "event-0004"]);
  });

  test("and what is left of a slice read none of 20,000 items that wait", async () => {
    await world.park(3);
    const { id } = await world.request();
    await fill(id, 10_000, "'infinity'::timestamptz");
    await fill(id, 10_000, "now() + interval '1 hour'");
    const looked = countingRows(world.db, "open_items");
    const epochs = (await takeSlices(world.db, ofSlice(id)))!;
    await readSliceItems(looked.db, { ...ofSlice(id), epochs, after: SLICE_START, limit: 100, withoutSources: [] });
    expect(looked.rows()).toBe(3);
    await readSliceRest(looked.db, { redriveId: id, slices: [0, 0], withoutSources: [] });
    expect(looked.rows()).toBeLessThanOrEqual(6);
  });

  test("that is empty leaves what its slice waits for: nothing, a time, the hold of the redrive, or other events", async () => {
    await world.park(2);
    const { id } = await world.request();
    const rest = (...withoutSources: string[]) =>
      readSliceRest(world.db, { redriveId: id, slices: [0, 0], withoutSources });
    expect(await rest()).toEqual({ ready: true, dueMs: null, sendableMs: null, holdMs: null });
    await world.db.run("update open_items set not_before = 'infinity'");
    expect(await rest()).toEqual({ ready: false, dueMs: null, sendableMs: null, holdMs: null });
    await due("event-0000", "now() + interval '1 hour'");
    const { ready, dueMs } = await rest();
    expect({ ready, dueS: Math.round(dueMs! / 10_000) * 10 }).toEqual({ ready: false, dueS: 3_600 });
    await world.db.run("update redrives set hold_until = now() + interval '2 hours'");
    expect(Math.round((await rest()).holdMs! / 10_000) * 10).toBe(7_200);
  });

  test("that is empty leaves the first time of the sources that take sends, whatever is due elsewhere", async () => {
    await world.source("billing");
    await world.park(2);
    await world.park(2, (index) => ({ eventId: `elsewhere-${index}` }), "billing");
    const { id } = await world.request();
    await world.db.run("update open_items set not_before = now() - interval '1 minute'");
    await due("event-0001", "now() + interval '1 hour'");
    await due("event-0000", "'infinity'");
    const [billing] = await world.db.query<{ id: string }>("select id from sources where name = 'billing'");
    const rest = await readSliceRest(world.db, { redriveId: id, slices: [0, 0], withoutSources: [billing!.id] });
    expect(rest.dueMs).toBeLessThan(0);
    expect(Math.round(rest.sendableMs! / 10_000) * 10).toBe(3_600);
  });
});

describe("an event", () => {
  test("has one open item at the most, whichever redrive asks", async () => {
    await world.park(1);
    const first = await world.request();
    const [other] = await world.db.query<{ id: string }>(
      `insert into redrives select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).*
         from redrives r where id = $1 returning id`,
      [first.id],
    );
    await expect(
      world.db.run(
        `insert into open_items select (jsonb_populate_record(i, jsonb_build_object('redrive_id', $1::uuid))).* from open_items i`,
        [other!.id],
      ),
    ).rejects.toMatchObject({ code: "23505" });
  });
});

describe("an intent", () => {
  const recorded = () => world.db.query("select unnest(ids) as id from send_intents");

  test("whose number an attempt of the item has is denied, and its neighbours are recorded", async () => {
    await world.park(2);
    const { id } = await world.request();
    const [first, second] = await take(id);
    await world.db.transaction((tx) => insertAttempts(tx, [endOf({ ...first!, attempt: 2 })]));
    const intents = [intentOf(first!, { attempt: 2 }), intentOf(second!, { attempt: 2 })];
    expect(await intend(world.db, intents)).toEqual(new Set([attemptKey(intents[1]!)]));
    expect(await recorded()).toEqual([{ id: second!.id }]);
    expect(await opened(first!, { attempt: 3 })).toBe(true);
  });

  test("with the number of an attempt that its item did not count before its worker was lost is denied", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    await world.db.transaction((tx) => insertAttempts(tx, [endOf(item!)]));
    await loseSlices(world.db);
    const [again] = await take(id, { workerId: OTHER });
    expect([await opened(again!), await opened(again!, { attempt: 2 })]).toEqual([false, true]);
  });

  test("is denied once the redrive is paused, cancelled or held", async () => {
    await world.park(1);
    const { id } = await world.request();
    const [item] = await take(id);
    for (const change of [
      "state = 'PAUSED'",
      "state = 'CANCELLED'",
      "state = 'RUNNING', hold_until = now() + interval '1 h'",
    ]) {
      await world.db.run(`update redrives set ${change} where id = $1`, [id]);
      expect(await opened(item!)).toBe(false);
    }
    await world.db.run("update redrives set hold_until = null where id = $1", [id]);
    expect(await opened(item!)).toBe(true);
  });

  test.each([
    {
      how: "ignored",
      withdraw: (tx: Tx, items: SliceItem[]): Promise<unknown[]> =>
        refuseQueuedItems(
          tx,
          items.map(({ id }) => id),
          "ignored",
        ),
    },
    {
      how: "cancelled",
      withdraw: (tx: Tx, items: SliceItem[]): Promise<unknown[]> =>
        cancelOpenItems(tx, items[0]!.redriveId, 100, "ada"),
    },
  ])(
    "is denied when its item was $how since its page; an item under a live intent stays, and one under a lost one ends with it as ambiguous",
    async ({ withdraw }) => {
      await world.park(2);
      const { id } = await world.request();
      const items = await take(id);
      const [free, sent] = items as [SliceItem, SliceItem];
      expect(await opened(sent)).toBe(true);
      expect(await world.db.transaction((tx) => withdraw(tx, items))).toHaveLength(1);
      expect([await opened(free), await opened(sent)]).toEqual([false, true]);

      await loseSlices(world.db);
      expect(await world.db.transaction((tx) => withdraw(tx, items))).toHaveLength(1);
      const [end] = await world.db.query(
        `select i.state = 'open' as open, i.attempts, a.state, a.code from redrive_items i join sends a using (id, redrive_id)`,
      );
      expect(end).toEqual({ open: false, attempts: 1, state: "ambiguous", code: "WORKER_LOST" });
    },
  );

  test("leaves its wave when an event of another redrive comes before it, until that one ends", async () => {
    await world.park(3, (index) => ({ aggregateId: index < 2 ? "order-1" : "order-2", version: BigInt(index + 1) }));
    const later = await freeze("event-0001", "event-0002");
    const items = await take(later);
    const [behind, free] = items.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1)) as [SliceItem, SliceItem];
    const [first] = await take(await freeze("event-0000"));
    expect(await intend(world.db, [intentOf(behind), intentOf(free)])).toEqual(new Set([attemptKey(intentOf(free))]));
    expect(await recorded()).toEqual([{ id: free.id }]);
    expect(await opened(first!)).toBe(true);
    await deliver(first!);
    expect(await opened(behind)).toBe(true);
  });

  test("is denied behind a parked earlier version above the processed one, and below that one; with pass only where the parked one failed or bounced in the redrive", async () => {
    await world.park(2, (index) => ({ aggregateId: "order-1", version: BigInt(index + 5) }));
    const id = await freeze("event-0001");
    const [item] = await take(id);
    expect(await opened(item!)).toBe(false);
    expect(await opened(item!, { passes: true })).toBe(true);
    const [parked] = await world.idsOf(["event-0000"]);
    await world.db.run(
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state)
       select $1, redrive_id, slice, source_id, error_code, 'refused' from redrive_items`,
      [parked],
    );
    for (const [state, passes] of [
      ["refused", true],
      ["failed", false],
      ["delivered", false],
    ] as const) {
      await world.db.run("update redrive_items set state = $2 where id = $1", [parked, state]);
      expect(await opened(item!, { passes: true }), state).toBe(passes);
    }
    const report = (eventId: string, version: number) =>
      world.db.run(
        `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
         values ('stock', $1, $2, $4, 'order-1', $3)`,
        [item!.sourceId, eventId, version, item!.aggregateType ?? ""],
      );
    for (const [version, opens] of [
      [4, false],
      [5, true],
      [6, true],
      [7, false],
    ] as const) {
      await report(`reported-${version}`, version);
      expect(await opened(item!), String(version)).toBe(opens);
    }
  });

  test("leaves with the next wave when the store fails between it and the look", async () => {
    await world.park(2);
    const [first, second] = await take(await freeze("event-0000", "event-0001"));
    let statements = 0;
    const failing: Db = {
      ...world.db,
      query: (...statement) =>
        ++statements === 2 ? Promise.reject(new Error("the store is away")) : world.db.query(...statement),
    };
    const attempts = createAttempts({ ...world.deps, db: failing });
    await expect(attempts.open(intentOf(first!))).rejects.toThrow("the store is away");
    expect(await recorded()).toEqual([{ id: first!.id }]);
    expect(await attempts.open(intentOf(second!))).not.toBeNull();
    expect(await recorded()).toEqual([{ id: second!.id }]);
  });

  test("that was withdrawn before its send binds its event to no target, and is no send", async () => {
    await world.park(2);
    const [unsent, sent] = await take(await freeze("event-0000", "event-0001"));
    await world.db.transaction((tx) =>
      insertAttempts(tx, [endOf(unsent!, { code: "CANCELLED" }), endOf(sent!, { code: "HTTP_503" })]),
    );
    const ids = [unsent!.id, sent!.id];
    expect(await readEarlierAttempts(world.db, sent!.redriveId, ids)).toEqual(
      new Map([
        [unsent!.id, { attempt: 1, sent: false, unreached: 1 }],
        [sent!.id, { attempt: 1, sent: true, unreached: 0 }],
      ]),
    );
    const boundTo = await readSentTo(world.db, sent!.redriveId, [unsent!, sent!]);
    expect(ids.map((id) => boundTo.get(id)!.sentTo)).toEqual([null, sent!.id]);
  });

  test("may not be sent when the look is answered so late that a stop may have been answered", async () => {
    await world.park(1);
    const [item] = await take(await freeze("event-0000"));
    let nowMs = 0;
    const attempts = createAttempts({ ...world.deps, clock: { ...world.deps.clock, nowMs: () => nowMs } });
    const late: Db = {
      ...world.db,
      query: async (...statement) => {
        const rows = await world.db.query(...statement);
        nowMs += 1_501;
        return rows as never;
      },
    };
    const slow = createAttempts({ ...world.deps, db: late, clock: { ...world.deps.clock, nowMs: () => nowMs } });
    await expect(slow.open(intentOf(item!))).rejects.toMatchObject({ code: "read-timeout" });
    expect(await attempts.open(intentOf(item!))).not.toBeNull();
  });

  test("is denied when its worker is given up, or its item ends, between it and the look", async () => {
    await world.park(2);
    const items = await take(await freeze("event-0000", "event-0001"));
    for (const [index, meanwhile] of [
      () => world.db.run("delete from open_items where id = $1", [items[0]!.id]),
      () => loseSlices(world.db),
    ].entries()) {
      let statements = 0;
      const slow: Db = {
        ...world.db,
        query: async (...statement) => {
          if (++statements === 2) await meanwhile();
          return world.db.query(...statement);
        },
      };
      expect(await intend(slow, [intentOf(items[index]!)])).toEqual(new Set());
    }
  });

  test("is denied when its consumer has reported it meanwhile", async () => {
    await world.park(1);
    const [item] = await take(await freeze("event-0000"));
    await world.db.run(
      `insert into processed_events (consumer, source_id, event_id, aggregate_type) select 'stock', $1, 'event-0000', ''`,
      [item!.sourceId],
    );
    expect(await opened(item!)).toBe(false);
  });

  test("of an event without a version is denied only behind one that cools down", async () => {
    await world.park(2, () => ({ aggregateId: "order-1" }));
    const [item] = await take(await freeze("event-0001"));
    const cool = async (until: string) => {
      await world.db.run(`update dlq_events set cooldown_until = ${until} where event_id = 'event-0000'`);
      await world.db.run(
        "update aggregate_lines l set cooldown_until = e.cooldown_until from dlq_events e where e.id = l.id and part = 0",
      );
    };
    expect(await opened(item!)).toBe(true);
    await cool("now() + interval '1 minute'");
    expect(await opened(item!)).toBe(false);
    await cool("now()");
    expect(await opened(item!)).toBe(true);
  });

  test("asks about the source, the type and the id together: what shares an id holds nobody", async () => {
    await world.source("billing");
    const types = ["order", "customer", null];
    await world.park(3, (index) => ({ aggregateId: "42", aggregateType: types[index]!, version: BigInt(index + 1) }));
    await world.park(1, () => ({ eventId: "elsewhere", aggregateId: "42", version: 9n }), "billing");
    const items = await take(await freeze("event-0000", "event-0001", "event-0002", "elsewhere"));
    expect(
      (
        await intend(
          world.db,
          items.map((item) => intentOf(item)),
        )
      ).size,
    ).toBe(4);
  });

  test("is denied by a blacklist over its event, aggregate, code or source, and by no other: of another source or type, lifted or over", async () => {
    await world.park(1, () => ({ aggregateId: "42", errorCode: "TIMEOUT" }));
    const { id } = await world.request();
    const [item] = await take(id);
    const opens = async (whitelisted = false) => opened(item!, { whitelisted });
    const set = (change: string) => world.db.run(`update controls set ${change}`);
    for (const [scope, value, source, type] of [
      ["eventId", "event-0000", null, null],
      ["aggregateId", "42", null, null],
      ["errorCode", "TIMEOUT", null, null],
      ["source", "orders", null, null],
      ["eventId", "event-0000", "orders", null],
      ["aggregateId", "42", "orders", null],
      ["aggregateId", "42", "orders", "order"],
      ["errorCode", "TIMEOUT", "orders", null],
    ]) {
      await world.db.run("delete from controls");
      await world.db.run(
        `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
         values (gen_random_uuid(), 'blacklist', $1, $2, $3, $4, 'broken producer', 'person', 'ada')`,
        [scope, value, source, type],
      );
      const about = [scope, source, type].join(" ");
      // One that Parkade imposed yields to a whitelist, a person's never.
      expect(await opens(true), about).toBe(false);
      await set("origin = 'automatic'");
      expect([await opens(), await opens(true)], about).toEqual([false, true]);
      await set("origin = 'person', expires_at = now() - interval '1 second'");
      expect(await opens(), about).toBe(true);
      await set("expires_at = null, lifted_at = now()");
      expect(await opens(), about).toBe(true);
      if (source === null) continue;
      await set("lifted_at = null, source = 'billing'");
      expect(await opens(), about).toBe(true);
      await set("source = 'orders', aggregate_type = 'customer'");
      expect(await opens(), about).toBe(true);
    }
  });

  test("looks its controls up, and reads none of the others", async () => {
    await world.park(20, (index) => ({ aggregateId: `order-${index}`, aggregateType: index === 0 ? null : "order" }));
    // The first is over the aggregate of no type.
    await world.db.run(
      `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
       select uuidv7(), 'blacklist', 'aggregateId', 'order-' || n, case when n = 0 then 'orders' else 'billing' end,
              case when n = 0 then '' else 'order' end, '3 failed in a row', 'automatic', 'worker'
         from generate_series(0, 20000) n`,
    );
    await world.db.run("analyze controls");
    const { id } = await world.request();
    const intents = (await take(id)).map((item) => intentOf(item));
    // The statement that records the intents goes as it is; the question after it is explained.
    const explaining = countingRows(world.db, "controls");
    const query = <T>(text: string, values?: readonly unknown[], options?: { name?: string }) =>
      options?.name === "look" ? explaining.db.query<T>(text, values) : world.db.query<T>(text, values, options);
    await intend({ ...world.db, query }, intents);
    expect(explaining.rows()).toBeGreaterThan(0);
    expect(explaining.rows()).toBeLessThanOrEqual(20);
    expect((await intend(world.db, intents)).size).toBe(19);
  });
});

describe("an item that is set aside behind an earlier event", () => {
  /** Versions of one aggregate in redrives of their own, as they are read. */
  async function line(...redrives: string[][]): Promise<SliceItem[]> {
    await world.park(redrives.flat().length, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
    const items: SliceItem[] = [];
    for (const events of redrives) items.push(...(await take(await freeze(...events))));
    return items.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1));
  }
  const aside = (item: SliceItem) => end(item, { kind: "behind" });
  const wake = async (item: SliceItem) => (await wakeBehind(world.db, [item.id])).map(({ redriveId }) => redriveId);
  const waiting = async () =>
    (
      await world.db.query<{ eventId: string }>(
        `select e.event_id as "eventId" from open_items i join dlq_events e using (id) where i.not_before = 'infinity' order by 1`,
      )
    ).map(({ eventId }) => eventId);

  test("is in no page, and is woken by the end of the one before it, in whichever redrive that is, with what follows in its own", async () => {
    const [first, second, third, fourth] = (await line(
      ["event-0000"],
      ["event-0001", "event-0003"],
      ["event-0002"],
    )) as [SliceItem, SliceItem, SliceItem, SliceItem];
    for (const item of [second, third, fourth]) await aside(item);
    expect(await take(second.redriveId)).toEqual([]);
    expect(await wake(second)).toEqual([]);

    await deliver(first);
    expect(await wakeBehind(world.db, [first.id])).toEqual([{ redriveId: second.redriveId, slice: 0, lane: "main" }]);
    expect(await waiting()).toEqual(["event-0002"]);
    expect(eventIds(await take(second.redriveId))).toEqual(["event-0001", "event-0003"]);

    const [again] = await take(second.redriveId);
    await deliver({ ...second, fence: again!.fence });
    expect(await wake(second)).toEqual([third.redriveId]);
    expect(await waiting()).toEqual([]);
  });

  test("while that one ends is woken, whichever of the two commits last", async () => {
    const [first, second] = (await line(["event-0000"], ["event-0001"])) as [SliceItem, SliceItem];
    // The end comes first: its wake-up sees no mark.
    const marked = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const mark = world.db.transaction(async (tx) => {
      await tx.run("update open_items set not_before = 'infinity' where id = $1", [second.id]);
      marked.resolve();
      await commit.promise;
    });
    await marked.promise;
    await deliver(first);
    expect(await wake(first)).toEqual([]);
    commit.resolve();
    await mark;
    expect(await waiting()).toEqual(["event-0001"]);
    expect(await wake(second)).toEqual([second.redriveId]);
    expect(await waiting()).toEqual([]);
  });

  test("and forgotten is found again, in pages", async () => {
    await world.park(1);
    const { id } = await world.request();
    await fill(id, 1_500, "'infinity'::timestamptz");
    await fill(id, 10, "now() + interval '1 hour'");
    const found: string[][] = [];
    for (const _page of [1, 2, 3]) {
      found.push(await itemsBehind(world.db, found.at(-1)?.at(-1) ?? "00000000-0000-0000-0000-000000000000"));
    }
    expect(found.map((page) => page.length)).toEqual([1_000, 500, 0]);
    expect(new Set(found.flat()).size).toBe(1_500);
  });
});

describe("the slices of a worker", () => {
  const [lost, alive, own] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ];
  const beat = (id: string, agoS: number) =>
    world.db.run(
      `insert into worker_heartbeats (id, started_at, seen_at) values ($1, now(), now() - make_interval(secs => $2))
       on conflict (id) do update set seen_at = excluded.seen_at`,
      [id, agoS],
    );
  const free = () => world.db.transaction((tx) => freeLostSlices(tx, own, 6_000));

  test("without a sign of life are free for others; those of one that lives are not", async () => {
    await world.park(2);
    const redrives = [await freeze("event-0000"), await freeze("event-0001")] as const;
    const [stale] = await take(redrives[0], { workerId: lost });
    await take(redrives[1], { workerId: alive });
    await beat(lost, 7);
    await beat(alive, 5);
    await beat(own, 0);
    expect(await free()).toBe(1);
    expect(await free()).toBeNull();
    // One that was only slow finds its epoch gone, though nobody has taken the slice.
    expect(await opened(stale!)).toBe(false);
    expect(await take(redrives[0], { workerId: own })).toHaveLength(1);
    expect(await take(redrives[1], { workerId: own })).toEqual([]);
  });

  test("whose last one is in the future are free, too: the clock of the store was set back since; but not before its own next one", async () => {
    await world.park(2);
    const { id } = await world.request();
    await take(id, { workerId: lost });
    await beat(lost, -3_600);
    await beat(own, -3_600);
    expect(await free()).toBeNull();
    await beat(own, 0);
    expect(await free()).toBe(1);
    expect(await take(id, { workerId: own })).toHaveLength(2);
  });

  test("stay while the store was away for the one that looks, too", async () => {
    await world.park(2);
    const { id } = await world.request();
    await take(id, { workerId: lost });
    await beat(lost, 9);
    await beat(own, 4);
    expect(await free()).toBeNull();
    expect(await take(id, { workerId: own })).toEqual([]);
  });

  test("that it does not work are free again, with what an answer that was lost had under way", async () => {
    await world.park(2);
    const worked = await freeze("event-0000");
    const forgotten = await freeze("event-0001");
    const items = [...(await take(worked)), ...(await take(forgotten))];
    await intend(
      world.db,
      items.map((item) => intentOf(item)),
    );
    const ofForgotten = (await ownedSlices(world.db, WORKER)).filter(({ redriveId }) => redriveId === forgotten);
    const free = (slices: typeof ofForgotten) => world.db.transaction((tx) => freeForgottenSlices(tx, WORKER, slices));
    // Taken anew since.
    expect(await free(ofForgotten.map((slice) => ({ ...slice, epoch: "0" })))).toBe(0);
    expect(await free(ofForgotten)).toBe(1);
    expect(await take(worked, { workerId: OTHER })).toEqual([]);
    expect(await take(forgotten, { workerId: OTHER })).toMatchObject([{ attempts: 1 }]);
    expect(await world.db.query("select redrive_id from redrive_attempts")).toEqual([{ redrive_id: forgotten }]);
  });

  test("that are given up count what was under way as ambiguous, and neither read nor change what waits", async () => {
    await world.park(3);
    const { id } = await world.request();
    const [first, second] = await take(id);
    await intend(world.db, [intentOf(first!), intentOf(second!, { attempt: 3 })]);
    await fill(id, 10_000, "'infinity'::timestamptz");
    await fill(id, 10_000, "now() + interval '1 hour'");
    const waiting = () =>
      world.db.query(
        "select md5(string_agg(id::text || xmin::text, '' order by id)) from open_items where not_before is not null",
      );
    const before = await waiting();
    const looked = await world.db.transaction(async (tx) => {
      const counting = countingRows(tx, "open_items");
      const run = async (text: string, values?: readonly unknown[]) => (await counting.db.query(text, values)).length;
      expect(await abandonSlices({ ...tx, run }, ofSlice(id))).toBe(1);
      return counting.rows();
    });
    expect(looked).toBeLessThanOrEqual(10);
    expect(await waiting()).toEqual(before);
    const attempts = await world.db.query("select id, attempt, state, code from redrive_attempts order by attempt");
    expect(attempts).toEqual([
      { id: first!.id, attempt: 1, state: "ambiguous", code: "WORKER_LOST" },
      { id: second!.id, attempt: 3, state: "ambiguous", code: "WORKER_LOST" },
    ]);
    expect((await take(id)).map((item) => item.attempts).sort()).toEqual([0, 1, 3]);
    expect(await world.db.query("select 1 from open_sends")).toEqual([]);
    // The end that the former owner reports late changes nothing.
    await world.db.transaction((tx) => insertAttempts(tx, [endOf(first!)]));
    expect(await world.db.query("select id, attempt, state, code from redrive_attempts order by attempt")).toEqual(
      attempts,
    );
  });
});

describe("a plan that was made while no item was open", () => {
  /** Statistics that show no open item, then a redrive of 1,200 aggregates. */
  async function freezeUnseen(): Promise<SliceItem[]> {
    await world.park(1_200, (index) => ({ aggregateId: `order-${index}` }));
    const { id: earlier } = await world.request();
    await world.db.run("update redrive_items set state = 'cancelled' where redrive_id = $1", [earlier]);
    await world.db.run("delete from open_items");
    await world.db.run("update dlq_events set status = 'PENDING'");
    await mendAllLines(world.db);
    await world.db.run("vacuum analyze redrive_items, open_items");
    const { id } = await world.request();
    return takeItems(world.db, { redriveId: id, limit: 20 });
  }

  test("reads for each aggregate its own open items, and not those of the others", async () => {
    const items = await freezeUnseen();
    expect(items).toHaveLength(20);
    const { redriveId } = items[0]!;
    const ids = items.map(({ id }) => id);
    await world.db.run("update open_items set not_before = 'infinity' where redrive_id = $1", [redriveId]);
    const looked = countingRows(world.db, "open_items");
    await wakeBehind(looked.db, ids);
    expect(looked.rows()).toBeGreaterThan(items.length);
    await readAggregateOrder(looked.db, items as AggregateName[], { id: redriveId, earlier: "hold" });
    const failed = items.map((item) => ({ ...item, redriveIds: [redriveId], unknown: 0 }));
    await countAggregateFailures(looked.db as Tx, failed as BouncedAggregate[], 5);
    expect(looked.rows()).toBeLessThan(10 * items.length);
  });
});
