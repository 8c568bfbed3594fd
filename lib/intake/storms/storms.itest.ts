import { afterEach, beforeEach, expect, test } from "vitest";
import * as events from "@/app/(events)/api/v1/events/route";
import * as groups from "@/app/(events)/api/v1/groups/route";
import * as flow from "@/app/(observe)/api/v1/stats/flow/route";
import * as topErrors from "@/app/(observe)/api/v1/stats/top-errors/route";
import * as metrics from "@/app/(observe)/metrics/route";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import type { GroupList, ParkAnswer } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import type { FlowStats, TopErrors } from "@/lib/observe/stats/stats.shapes";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { rollupDrift } from "@/lib/testing/rollup-drift";
import { isStored } from "./storm.pure";
import type { Storm } from "./thin-out";

const LIMIT = 20;
/** All letters of a test fall into one minute of the past. */
const AT = Date.now() - 3_600_000;

let web: TestConsole;
let second: Db;
beforeEach(async () => {
  web = await testConsole();
  second = createDb(web.database.url, { max: 2 });
  await addSource(web.deps.db, "orders");
  await web.call(source.PATCH, { method: "PATCH", params: { name: "orders" }, body: { stormPerMinute: LIMIT } });
});
afterEach(async () => {
  expect(await rollupDrift(web.deps.db)).toEqual([]);
  await foldRollups(web.deps.db);
  expect(await rollupDrift(web.deps.db)).toEqual([]);
  await second.end();
  await web.close();
});

type Change = (index: number) => Partial<DeadLetter>;
const letters = (from: number, to: number, change: Change = () => ({})) =>
  Array.from({ length: to - from }, (_, index) => ({
    source: "orders",
    letter: deadLetter({
      ...{ eventId: `e-${from + index}`, aggregateType: "", aggregateId: null, version: null, origin: {} },
      ...change(from + index),
    }),
  }));
const park = (arrivals: ReturnType<typeof letters>, { db = web.deps.db, atMs = AT, onStorm }: Options = {}) =>
  parkEvents({ ...web.deps, db }, arrivals, localViewer(), { atMs, onStorm });
type Options = { db?: Db; atMs?: number; onStorm?: (storm: Storm) => void };
const count = (outcomes: readonly ParkOutcome[], outcome: ParkOutcome) =>
  outcomes.filter((one) => one === outcome).length;
const storedIds = async () =>
  (await web.deps.db.query<{ id: string }>("select event_id as id from dlq_events")).map(({ id }) => id);
const unstored = async () =>
  (
    await web.deps.db.query<{ n: number }>(
      `select (select coalesce(sum(n), 0) from dlq_flow where kind = 'unstored')
            + (select coalesce(sum(unstored), 0) from dlq_group_flow_minutes) as n`,
    )
  ).map(({ n }) => Number(n))[0];

test("the first of a minute are stored, then a sample, and the answer of each arrival says which", async () => {
  const outcomes = await park(letters(1, 101));
  expect(outcomes.map((outcome) => outcome === "parked")).toEqual(
    Array.from({ length: 100 }, (_, index) => isStored(index + 1, LIMIT)),
  );
  expect(await storedIds()).toHaveLength(count(outcomes, "parked"));
  expect([await unstored(), count(outcomes, "unstored")]).toEqual([100 - count(outcomes, "parked"), await unstored()]);
  // Folded or not, the next batch goes on where this one ended.
  await foldRollups(web.deps.db);
  const next = await park(letters(101, 201));
  expect(next.map((outcome) => outcome === "parked")).toEqual(
    Array.from({ length: 100 }, (_, index) => isStored(index + 101, LIMIT)),
  );
  // Another minute begins anew.
  expect(count(await park(letters(201, 201 + LIMIT), { atMs: AT + 60_000 }), "parked")).toBe(LIMIT);
});

test("other groups, other sources and sources without a limit are stored whole", async () => {
  await addSource(web.deps.db, "free");
  const other = letters(1, 101).map((arrival) => ({ ...arrival, source: "free" }));
  expect(count(await park(other), "parked")).toBe(100);
  await park(letters(1, 101));
  const error = { type: "Other", message: "another failure", stack: null };
  expect(count(await park(letters(500, 500 + LIMIT, () => ({ error }))), "parked")).toBe(LIMIT);
});

test("what is stored is no part of a storm: repeats and bounces count as always, and aggregates are never thinned out", async () => {
  await park(letters(1, 101));
  const stored = await storedIds();
  expect(new Set(await park(letters(1, 1 + LIMIT)))).toEqual(new Set(["duplicate"]));
  // One that a redrive has sent is stored, whatever its place, and so is its repeat.
  const redriven = letters(3_000, 3_040, () => ({ redrive: { redriveId: uuidv7(1), attempt: 1 } }));
  expect(new Set(await park(redriven))).toEqual(new Set(["parked"]));
  const versions = letters(1_000, 1_100, (n) => ({ aggregateId: "order-7", version: BigInt(n) }));
  expect(new Set(await park(versions))).toEqual(new Set(["parked"]));
  // One that nobody kept is taken when it comes again in a quiet minute.
  const left = letters(1, 101).find(({ letter }) => !stored.includes(letter.eventId))!;
  expect(await park([left], { atMs: AT + 120_000 })).toEqual(["parked"]);
});

test("an event that comes twice in one batch is stored once, and its repeat is a duplicate", async () => {
  const twice = letters(1, 31).flatMap((arrival) => [arrival, arrival]);
  const outcomes = await park(twice);
  expect(new Set(await storedIds()).size).toBe(count(outcomes, "parked"));
  expect(count(outcomes, "parked") + count(outcomes, "duplicate") + count(outcomes, "unstored")).toBe(60);
  expect(await unstored()).toBe(count(outcomes, "unstored"));
});

test("two ingesters at once: each arrival is stored or counted, and the sample is at most a batch too large", async () => {
  const batches = Array.from({ length: 20 }, (_, batch) => letters(batch * 50, batch * 50 + 50));
  const run = async (db: Db, its: typeof batches) => {
    const outcomes: ParkOutcome[] = [];
    for (const batch of its) outcomes.push(...(await park(batch, { db })));
    return outcomes;
  };
  const both = await Promise.all([run(web.deps.db, batches.slice(0, 10)), run(second, batches.slice(10))]);
  const outcomes = both.flat();
  const parked = count(outcomes, "parked");
  expect(parked + count(outcomes, "unstored")).toBe(1_000);
  expect([(await storedIds()).length, await unstored()]).toEqual([parked, 1_000 - parked]);
  const alone = Array.from({ length: 1_000 }, (_, index) => isStored(index + 1, LIMIT)).filter(Boolean).length;
  expect(parked).toBeGreaterThanOrEqual(LIMIT);
  expect(parked).toBeLessThanOrEqual(alone + 50);
});

test("where an acknowledged original would be gone all are stored, and the reader is told how long to wait", async () => {
  const storms: Storm[] = [];
  const onStorm = (storm: Storm) => void storms.push(storm);
  expect(count(await park(letters(1, 1 + LIMIT), { onStorm }), "parked")).toBe(LIMIT);
  expect(storms).toEqual([]);
  expect(count(await park(letters(100, 201), { onStorm }), "parked")).toBe(101);
  const endsAtMs = (Math.floor(AT / 60_000) + 1) * 60_000;
  expect(storms).toEqual([{ sourceId: expect.any(String), limit: LIMIT, atMs: AT, endsAtMs }]);
  expect(await unstored()).toBe(0);
});

test("every place with numbers says how many are not stored", async () => {
  await park(letters(1, 101));
  const left = (await unstored())!;
  expect(left).toBeGreaterThan(20);
  for (const folded of [false, true]) {
    if (folded) await foldRollups(web.deps.db);
    const list = (await web.call<GroupList>(groups.GET)).body;
    expect(list.items).toMatchObject([
      {
        arrivals: { count: 100 },
        unstored: { count: left, since: new Date(Math.floor(AT / 60_000) * 60_000).toISOString() },
      },
    ]);
    expect(list.items[0]!.trend.reduce((sum, n) => sum + n, 0)).toBe(100);
    expect((await web.call<GroupList>(groups.GET, { query: "?from=-10m" })).body.items[0]?.unstored ?? null).toBeNull();
    const stats = (await web.call<FlowStats>(flow.GET, { query: "?from=-24h" })).body;
    expect(stats.buckets.reduce((sum, bucket) => sum + bucket.unstored, 0)).toBe(left);
    const top = (await web.call<TopErrors>(topErrors.GET, { query: "?from=-24h" })).body;
    expect(top).toMatchObject({
      total: 100,
      buckets: [{ count: 100, parked: 100 - left, unstored: left }],
      groups: [{ count: 100 }],
    });
    const scraped = (await web.call(metrics.GET)).text;
    expect(scraped).toContain(`dlq_flow_24h{kind="unstored"} ${left}\n`);
    for (const [outcome, count] of Object.entries({ parked: 100 - left, unstored: left, duplicate: 0 }))
      expect(scraped).toContain(`parkade_intake_arrivals_total{source="orders",outcome="${outcome}"} ${count}\n`);
  }
});

test("over HTTP the answer counts what is not stored", async () => {
  const body = Array.from({ length: 60 }, (_, n) => ({
    ...{ source: "orders", eventId: `h-${n}`, errorCode: "X", payload: n },
    error: { message: "down" },
  }));
  const { status, body: answer } = await web.call<ParkAnswer>(events.POST, { body });
  const kept = body.filter((_, index) => isStored(index + 1, LIMIT)).length;
  expect([status, answer]).toEqual([
    202,
    {
      ...{ accepted: kept, duplicates: 0, changed: 0, bounced: 0, dropped: 0, unstored: 60 - kept },
      ...{ rejected: [], rejectedTotal: 0, revisions: [] },
    },
  ]);
});

test("a limit is refused with its field and the fix, shown, audited and taken away", async () => {
  const params = { name: "orders" };
  for (const stormPerMinute of [0, 1.5, "many", 2_000_000]) {
    const detail = expect.stringMatching(/whole number from 1 to 1000000, or null/);
    expect(await web.call(source.PATCH, { method: "PATCH", params, body: { stormPerMinute } })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "stormPerMinute", detail }] },
    });
  }
  expect((await web.call(source.GET, { params })).body.stormPerMinute).toBe(LIMIT);
  const off = await web.call(source.PATCH, { method: "PATCH", params, body: { stormPerMinute: null } });
  expect(off.body.stormPerMinute).toBeNull();
  const [entry] = await web.deps.db.query(
    "select before ->> 'stormPerMinute' as before, after ->> 'stormPerMinute' as after from audit_entries order by id desc limit 1",
  );
  expect(entry).toEqual({ before: String(LIMIT), after: null });
  expect(count(await park(letters(1, 101)), "parked")).toBe(100);
});
