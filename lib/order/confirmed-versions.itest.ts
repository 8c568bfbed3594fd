import { afterEach, beforeEach, expect, test } from "vitest";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { deleteStored, forgetEvents } from "@/lib/keep/forget/forgotten-events.write";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import { uuidv7 } from "@/lib/platform/ids";
import { confirmWithin } from "@/lib/redrive/confirm/confirm";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import { finishItems } from "@/lib/redrive/run/finish";
import { deadLetter } from "@/lib/testing/letters";
import { lineFaults, mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { takeItems } from "@/lib/testing/slice-items";

const ORDER = { aggregateType: "order", aggregateId: "order-7" };
let world: World;
/** Resolved when the transactions that wait for it commit, at the latest when the test ends. */
let commit: PromiseWithResolvers<void>;

beforeEach(async () => {
  commit = Promise.withResolvers();
  world = await openWorld({ redisUrl: null });
  await world.park(4, (index) => ({ ...ORDER, eventId: `v${index + 1}`, version: BigInt(index + 1) }));
});
afterEach(async () => {
  commit.resolve();
  const faults = await lineFaults(world.db);
  await world.close();
  expect(faults).toEqual([]);
});

/** The transaction of a confirmation, which commits when `until` resolves. Resolves with its end when it has confirmed. */
async function confirm(eventId: string, until: Promise<void> = Promise.resolve()): Promise<{ end: Promise<void> }> {
  const ids = await world.idsOf([eventId]);
  const confirmed = Promise.withResolvers<void>();
  const end = world.db.transaction(async (tx) => {
    await confirmWithin(tx, ids, { by: "stock", nowMs: Date.now() });
    confirmed.resolve();
    await until;
  });
  await Promise.race([confirmed.promise, end]);
  return { end };
}

const bounce = (eventId: string, version: bigint) =>
  parkEvents(world.deps, [{ source: "orders", letter: deadLetter({ ...ORDER, eventId, version }) }], localViewer());

/** The newest processed version, and the versions that hold what comes behind them. */
async function order(): Promise<{ processed: bigint | null; heads: bigint[] }> {
  const [source] = await world.db.query<{ sourceId: string }>(
    `select id as "sourceId" from sources where name = 'orders'`,
  );
  const [found] = (await readAggregateOrder(world.db, [{ ...ORDER, ...source! }], null)).values();
  return { processed: found!.versionProcessed, heads: found!.heads.map(({ version }) => version) };
}

const someoneWaits = () =>
  expect
    .poll(() =>
      world.db.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"),
    )
    .toHaveLength(1);

test("of two confirmations at once the newer version counts, whichever commits last", async () => {
  const newer = await confirm("v3", commit.promise);
  const older = confirm("v2");
  await someoneWaits();
  commit.resolve();
  await newer.end;
  await (await older).end;
  expect(await order()).toEqual({ processed: 3n, heads: [4n] });
});

test("an item that ends as processed before confirms its version", async () => {
  const { id } = await world.request({ select: { ids: await world.idsOf(["v1"]) } });
  const [item] = await takeItems(world.db, { redriveId: id, limit: 1 });
  const outcome = { kind: "already-processed", detail: "stock has processed it" } as const;
  const after = eventAfter(outcome, item!, await readSettings(world.db), Date.now());
  await finishItems(world.deps, id, [{ item: item!, outcome, after, attempts: 0, findings: [], closes: [] }]);
  expect(await order()).toEqual({ processed: 1n, heads: [2n, 3n, 4n] });
});

test("when the newest confirmed version bounces, it and the parked versions down to the one confirmed before hold again", async () => {
  await (await confirm("v1")).end;
  await (await confirm("v3")).end;
  expect(await order()).toEqual({ processed: 3n, heads: [4n] });
  expect(await bounce("v3", 3n)).toEqual(["bounced"]);
  expect(await order()).toEqual({ processed: 1n, heads: [2n, 3n, 4n] });
  // A bounce of the only one is left with none.
  expect(await bounce("v1", 1n)).toEqual(["bounced"]);
  expect(await order()).toEqual({ processed: null, heads: [1n, 2n, 3n, 4n] });
});

test("a bounce sees what was confirmed while it waited", async () => {
  await (await confirm("v3")).end;
  const meanwhile = await confirm("v2", commit.promise);
  const bounced = bounce("v3", 3n);
  await someoneWaits();
  commit.resolve();
  await meanwhile.end;
  expect(await bounced).toEqual(["bounced"]);
  expect(await order()).toEqual({ processed: 2n, heads: [3n, 4n] });
});

test("a row stays as long as its confirmed event is stored, and the version counts after both have left", async () => {
  await (await confirm("v3")).end;
  const daysPass = async () => {
    await world.db.run("update aggregates set lease_until = now() - interval '3 days'");
    await removeIdleAggregates(world.db, null);
    return world.db.query("select from aggregates");
  };
  expect(await daysPass()).toHaveLength(1);
  const ids = await world.idsOf(["v3"]);
  await world.db.transaction(async (tx) => {
    const { forgotten } = await deleteStored(tx, ids, Date.now());
    await forgetEvents(tx, uuidv7(Date.now()), forgotten);
  });
  expect(await order()).toEqual({ processed: 3n, heads: [4n] });
  expect(await daysPass()).toEqual([]);
  expect(await order()).toEqual({ processed: 3n, heads: [4n] });
});

test("the rounds of upkeep mend a version that is too low or too high", async () => {
  await world.db.run("update dlq_events set status = 'REDRIVEN', confirmed_at = now() where event_id in ('v1', 'v3')");
  await mendAllLines(world.db);
  expect((await order()).processed).toBe(3n);
  await world.db.run("update dlq_events set confirmed_at = null where event_id = 'v3'");
  await removeIdleAggregates(world.db, null);
  expect((await order()).processed).toBe(1n);
});
