import { beforeEach, describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { BULK_NOW_MAX } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import type { Queryable } from "@/lib/platform/database/db";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { imposeStop } from "@/lib/redrive/life/change-stop";
import { cancelOpenItems, refuseQueuedItems } from "@/lib/redrive/life/withdraw-items.write";
import { insertAttempts } from "@/lib/redrive/run/store/finish-items.write";
import { type AttemptIntent, attemptKey } from "@/lib/redrive/run/store/intents.write";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { type World, worldOfEachTest } from "@/lib/testing/redrive-world";
import { auditGaps } from "@/lib/testing/rollup-drift";
import { endOf, intend } from "@/lib/testing/sends";
import { loseSlices, takeItems } from "@/lib/testing/slice-items";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";
import { workBulkOperation } from "@/workers/work-bulk-operation";

let redriveId: string;
let items: SliceItem[];
let targetId: string;

const world = worldOfEachTest({ invariants: false });

beforeEach(async () => {
  await world.park(3, (index) => ({ aggregateId: `order-${index}`, version: 7n, errorCode: "STOCK_LOCKED" }));
  targetId = await ordersTarget();
  redriveId = (await world.request()).id;
  items = await takeItems(world.db, { redriveId, slices: [0, 0], limit: 100 });
});

function intentOf(item: SliceItem): AttemptIntent {
  return {
    ...item,
    attempt: 1,
    target: "orders",
    targetId,
    idempotencyKey: `orders:${item.eventId}`,
    passes: false,
    whitelisted: false,
  };
}

const intents = () => items.map(intentOf);
const openRows = () => world.db.query("select id from open_sends");

/** The deps of the person's process, whose pauses take no time: two seconds are over at once. */
function impatient(onPause: () => Promise<void> = async () => {}) {
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
    await onPause();
  };
  return { ...world.deps, clock: { ...world.deps.clock, nowMs: () => nowMs, sleep } };
}

async function close(item: SliceItem): Promise<void> {
  await world.db.transaction((tx) => insertAttempts(tx, [endOf(item)]));
}

/** The id that the intents name as their target's. */
const ordersTarget = async () =>
  (await world.db.query<{ id: string }>("select id from targets where name = 'orders'"))[0]!.id;

type Stop = { name: string; stop: (deps: World["deps"]) => Promise<{ underWay: number | null }> };
const STOPS: Stop[] = [
  ...(["pause", "cancel"] as const).map((action) => ({
    name: action,
    stop: (deps: World["deps"]) => changeRedrive(deps, { id: redriveId, change: { action } }, localViewer("ada")),
  })),
  ...([null, "orders"] as const).map((target) => ({
    name: `a stop of ${target ?? "everything"}`,
    stop: (deps: World["deps"]) => imposeStop(deps, { target, reason: "wrong data" }, localViewer("ada")),
  })),
  ...(["blacklist", "cooldown"] as const).map((kind) => ({
    name: kind,
    stop: (deps: World["deps"]) => {
      const expiresAt = new Date(deps.clock.wallMs() + 3_600_000).toISOString();
      return imposeControl(
        deps,
        { kind, scope: { errorCode: "STOCK_LOCKED" }, reason: "broken", expiresAt },
        localViewer("ada"),
      );
    },
  })),
];

describe.each(STOPS)("$name", ({ stop }) => {
  test("that commits while an intent is being recorded: nothing is sent, and no intent is left", async () => {
    let looks = 0;
    const slow: Queryable = {
      ...world.db,
      query: async (...statement: Parameters<Queryable["query"]>) => {
        looks++;
        // The intent has passed the gate; its second look comes after the whole of the stop.
        if (looks === 2) expect(await stop(impatient())).toEqual(expect.objectContaining({ underWay: 3 }));
        return world.db.query(...statement) as never;
      },
    };
    expect(await intend(slow, intents())).toEqual(new Set());
    expect(looks).toBe(2);
    expect(await openRows()).toEqual([]);
  });

  test("answers when the last send under way has ended, and lets nothing begin after its answer", async () => {
    expect((await intend(world.db, intents())).size).toBe(3);
    const left = [...items];
    const answer = await stop(
      impatient(async () => {
        const next = left.shift();
        if (next) await close(next);
      }),
    );
    expect(answer.underWay).toBe(0);
    expect(left).toEqual([]);
    const next = intents().map((intent) => ({ ...intent, attempt: 2 }));
    expect(await intend(world.db, next)).toEqual(new Set());
  });

  test("says after two seconds how many are still being sent; those of a worker that was given up do not count", async () => {
    await intend(world.db, intents());
    expect((await stop(impatient())).underWay).toBe(3);
    await loseSlices(world.db);
    expect((await stop(impatient())).underWay).toBe(0);
  });
});

describe("a stop of a target", () => {
  test("lets the sends to another one begin", async () => {
    await imposeStop(impatient(), { target: "orders.slow", reason: "wrong data" }, localViewer("ada"));
    expect((await intend(world.db, intents())).size).toBe(3);
  });

  test("by two people is one stop of the first of them, with one audit entry", async () => {
    const [ada, bob] = await Promise.all(
      ["ada", "bob"].map((name) => imposeStop(impatient(), { target: null, reason: `of ${name}` }, localViewer(name))),
    );
    expect(bob).toEqual(ada);
    expect(await world.db.query("select actor from audit_entries where action = 'stop.imposed'")).toHaveLength(1);
  });
});

describe("ignoring", () => {
  const ids = () => items.map((item) => item.id);
  const ignore = (deps: World["deps"]) =>
    ignoreEvents(deps, { select: { ids: ids() }, reason: "not wanted" }, localViewer("ada"));

  test("that has taken an item out and not committed yet: no intent of its slice is recorded, and those of others do not wait", async () => {
    const held = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    const stop = world.db.transaction(async (tx) => {
      expect(await refuseQueuedItems(tx, ids(), "ignored")).toHaveLength(3);
      taken.resolve();
      await held.promise;
    });
    await taken.promise;
    await world.park(1, () => ({ eventId: "another", aggregateId: null, version: null }));
    const other = await world.request({ select: { ids: await world.idsOf(["another"]) } });
    const [free] = await takeItems(world.db, { redriveId: other.id });
    expect(await intend(world.db, [...intents(), intentOf(free!)])).toEqual(new Set([attemptKey(intentOf(free!))]));
    held.resolve();
    await stop;
    expect(await intend(world.db, intents())).toEqual(new Set());
    expect(await openRows()).toEqual([expect.objectContaining({ id: free!.id })]);
  });

  test("takes an event out of no redrive that got it while the stop waited", async () => {
    const [first, second] = ids();
    const [before, after] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // A cancel holds the slices of the redrive, and an end those of the second one.
    await world.park(1, () => ({ eventId: "later", aggregateId: null, version: null }));
    const other = await world.request({ select: { ids: await world.idsOf(["later"]) } });
    const [otherItem] = await takeItems(world.db, { redriveId: other.id });
    const holding = Promise.withResolvers<void>();
    const end = world.db.transaction(async (tx) => {
      await tx.query("select from slice_owners where redrive_id = $1 for share", [other.id]);
      holding.resolve();
      await after.promise;
    });
    await holding.promise;
    const cancelling = Promise.withResolvers<void>();
    const cancel = world.db.transaction(async (tx) => {
      await tx.run("update redrives set state = 'CANCELLED' where id = $1", [redriveId]);
      await cancelOpenItems(tx, redriveId, 10, "ada");
      cancelling.resolve();
      await before.promise;
    });
    await cancelling.promise;
    const stop = world.db.transaction((tx) => refuseQueuedItems(tx, [first!, second!, otherItem!.id], "ignored"));
    await waitForLocks(world.db, 1);
    before.resolve();
    await cancel;
    await waitForLocks(world.db, 1);
    const again = await world.request({ select: { ids: [first!] } });
    const [item] = await takeItems(world.db, { redriveId: again.id });
    after.resolve();
    await end;
    expect((await stop).map(({ id }) => id)).toEqual([otherItem!.id]);
    expect(await intend(world.db, [intentOf(item!)])).toEqual(new Set([attemptKey(intentOf(item!))]));
  });

  test("that comes while an intent is being recorded waits for it, and leaves the item in flight", async () => {
    const recorded = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    // An intent whose transaction is still open: the worker's statement has not come to its end.
    const opening = world.db.transaction(async (tx) => {
      const opened = await intend(tx, intents());
      recorded.resolve();
      await goOn.promise;
      return opened;
    });
    await recorded.promise;
    const stop = ignore(impatient());
    await waitForLocks(world.db, 1);
    goOn.resolve();
    expect((await opening).size).toBe(3);
    expect(await stop).toMatchObject({ changed: 0, refused: { "in-flight": 3 }, underWay: 3 });
  });

  test("that meets a finish in a deadlock is done again", async () => {
    const [low, , high] = [...items].sort((left, right) => (left.id < right.id ? -1 : 1));
    const hasHigh = Promise.withResolvers<void>();
    const ignoreWaits = Promise.withResolvers<void>();
    // A finish that has the last item and comes to the first one later, as no order holds for it.
    const finish = world.db.transaction(async (tx) => {
      await tx.run("set local deadlock_timeout = '1min'");
      await tx.run("update open_items set attempts = 1 where id = $1", [high!.id]);
      hasHigh.resolve();
      await ignoreWaits.promise;
      await tx.run("update open_items set attempts = 1 where id = $1", [low!.id]);
    });
    await hasHigh.promise;
    const stop = ignore(impatient());
    await waitForLocks(world.db, 1);
    ignoreWaits.resolve();
    expect(await stop).toMatchObject({ changed: 3, refused: {}, underWay: 0 });
    await finish;
  });

  test("by a bulk operation takes what was being sent as soon as its send ends, and leaves the rest", async () => {
    await intend(world.db, intents());
    await world.park(BULK_NOW_MAX, (index) => ({ eventId: `more-${index}` }));
    const request = { select: { filter: {} }, reason: "not wanted" };
    const { id } = await ignoreEvents(world.deps, request, localViewer("ada"));
    const left = [...items];
    const deps = impatient(async () => {
      const next = left.pop();
      if (next && left.length > 0) await close(next);
    });
    await workBulkOperation({ ...world.deps, ...deps }, id!, new AbortController().signal);
    expect(await readBulkOperation(world.db, localViewer(), id!)).toMatchObject({
      state: "DONE",
      changed: BULK_NOW_MAX + 2,
      refused: 1,
      refusedByReason: { "in-flight": 1 },
    });
    expect(await world.statuses()).toEqual({ IGNORED: BULK_NOW_MAX + 2, QUEUED: 1 });
    expect(await auditGaps(world.db)).toEqual([]);
  });

  test("takes what was being sent as soon as its send ends without a delivery", async () => {
    await intend(world.db, intents());
    const left = [...items];
    const answer = await ignore(
      impatient(async () => {
        const next = left.pop();
        if (next && left.length > 0) await close(next);
      }),
    );
    expect(answer).toMatchObject({ changed: 2, refused: { "in-flight": 1 }, underWay: 1 });
    expect([...answer.ids!].sort()).toEqual([items[1]!.id, items[2]!.id].sort());
    expect(await world.statuses()).toEqual({ IGNORED: 2, QUEUED: 1 });
    // The next attempt of one that was taken is denied.
    expect(await intend(world.db, [{ ...intentOf(items[1]!), attempt: 2 }])).toEqual(new Set());
  });
});

describe("a send whose worker died, when a person ends its item before another worker claims it", () => {
  test.each(["cancel", "ignore"])("%s: it ends as ambiguous, and counts as a send and a redrive", async (how) => {
    await intend(world.db, intents());
    await loseSlices(world.db);
    if (how === "cancel") {
      await changeRedrive(impatient(), { id: redriveId, change: { action: "cancel" } }, localViewer("ada"));
    } else {
      const select = { ids: items.map(({ id }) => id) };
      await ignoreEvents(impatient(), { select, reason: "not wanted" }, localViewer("ada"));
    }
    const rows = await world.db.query(
      `select a.state, a.code, a.closed_at is not null as closed, i.attempts, e.attempts - 4 as sends, e.redrives
         from redrive_attempts a join redrive_items i using (id, redrive_id) join dlq_events e using (id)`,
    );
    const ended = { state: "ambiguous", code: "WORKER_LOST", closed: true, attempts: 1, sends: 1, redrives: 1 };
    expect(rows).toEqual([ended, ended, ended]);
  });
});

describe("a redrive that waits for items of another one", () => {
  test.each(["cancel", "ignore"])("may claim, and is enqueued, as soon as a person's %s ends them", async (how) => {
    await world.park(3, (index) => ({
      eventId: `later-${index}`,
      aggregateId: `order-${index}`,
      version: 8n,
      errorCode: "STOCK_LOCKED",
    }));
    const later = await world.idsOf(["later-0", "later-1", "later-2"]);
    const second = (await world.request({ select: { ids: later } })).id;
    const claim = () => takeItems(world.db, { redriveId: second, slices: [0, 99], limit: 10 });
    await world.db.run("update open_items set not_before = 'infinity' where redrive_id = $1", [second]);
    expect(await claim()).toEqual([]);
    await world.db.run("truncate bullmq.job cascade");
    if (how === "cancel") {
      await changeRedrive(impatient(), { id: redriveId, change: { action: "cancel" } }, localViewer("ada"));
    } else {
      const select = { ids: items.map(({ id }) => id) };
      await ignoreEvents(impatient(), { select, reason: "not wanted" }, localViewer("ada"));
    }
    const enqueued = (await world.lane.jobs("main"))!.map((job) => "redriveId" in job && job.redriveId);
    expect(enqueued).toContain(second);
    expect((await claim()).map(({ id }) => id).sort()).toEqual([...later].sort());
  });
});
