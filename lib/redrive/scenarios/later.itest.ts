import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { claimItems } from "@/lib/redrive/run/store/claim-items.write";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";
import { openWorld, type World } from "@/lib/testing/redrive-world";

const HOUR_MS = 3_600_000;
const [ada, bob] = [localViewer("ada"), localViewer("bob")];
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

let world: World;
afterEach(async () => {
  const broken = await world.broken();
  await world.close();
  expect(broken).toEqual([]);
});

const change = (id: string, action: "pause" | "resume" | "cancel" | "start") =>
  changeRedrive(world.deps, { id, change: { action } }, bob);
const starts = async (id: string) =>
  (
    await world.db.query<{ actor: string }>(
      "select actor from audit_entries where redrive_id = $1 and action = 'redrive.started'",
      [id],
    )
  ).map(({ actor }) => actor);
/** Its time has come. A test waits for no clock. */
const due = (id: string) => world.db.run("update redrives set start_at = now() where id = $1", [id]);
const forceBreaker = (force: "open" | null) =>
  world.db.run("update targets set breaker_force = $1, updated_at = now() where name = 'orders'", [force]);

describe("a redrive at a time", () => {
  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
  });

  test.each([-HOUR_MS, HOUR_MS])("starts by the database's clock, once, when workers are %i ms off", async (off) => {
    await world.park(3);
    await world.worker({ wallAheadMs: off });
    await world.worker({ wallAheadMs: -off });
    const at = Date.now() + 2_000;
    const { id, state, waitsFor } = await world.request({ startAt: new Date(at).toISOString() });
    expect({ state, waitsFor }).toEqual({ state: "PLANNED", waitsFor: ["time"] });
    expect(await world.redrive(id)).toMatchObject({ stalled: { code: "starts-later" }, startedAt: null });
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(world.sink.arrived[0]!.atMs + performance.timeOrigin).toBeGreaterThanOrEqual(at);
    expect(await starts(id)).toEqual(["worker"]);
  });

  test("is not claimed before its time, whatever its state", async () => {
    await world.park(2);
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    const claim = () => claimItems(world.db, { redriveId: id, slices: [0, 900_000_000], limit: 100, leaseMs: 30_000 });
    await world.db.run("update redrives set state = 'RUNNING'");
    expect(await claim()).toEqual([]);
    await due(id);
    expect(await claim()).toHaveLength(2);
  });

  test("still waits after it was paused and resumed, and gives its events back when it is cancelled", async () => {
    await world.park(2);
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    await change(id, "pause");
    await change(id, "resume");
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["time"] });
    await change(id, "cancel");
    expect(await world.statuses()).toEqual({ PENDING: 2 });
  });

  test("is started now by a person, once", async () => {
    await world.park(2);
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    await Promise.all([change(id, "start"), change(id, "start")]);
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 2, startAt: null });
    expect(await starts(id)).toEqual(["bob"]);
  });

  test("is started once, though the worker that waited was killed", async () => {
    await world.park(3);
    const doomed = await world.doomedWorker();
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    doomed.kill("SIGKILL");
    await due(id);
    await Promise.all([world.worker(), world.worker()]);
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(await starts(id)).toEqual(["worker"]);
  });

  test("whose time comes while no worker is alive says so, and starts when one is back", async () => {
    await world.park(3);
    const first = await world.worker();
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    await first.stop("a deploy");
    await due(id);
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: [], stalled: { code: "no-worker" } });
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(await starts(id)).toEqual(["worker"]);
  });

  test.each([
    [-1_000, "must be after now"],
    [31 * 24 * HOUR_MS, "must be within 30 days"],
  ])("%i ms from now is refused with the server's time", async (ms, words) => {
    await world.park(1);
    await expect(world.request({ startAt: inMs(ms) })).rejects.toMatchObject({
      code: "invalid-request",
      message: expect.stringMatching(new RegExp(`startAt ${words}: it is \\d{4}-.*Z by the server's clock`)),
    });
    expect(await world.statuses()).toEqual({ PENDING: 1 });
  });

  test("refuses what was blacklisted before it started", async () => {
    await world.park(2);
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    const { imposeControl } = await import("@/lib/order/controls/impose-control");
    const blacklist = { kind: "blacklist", scope: { eventId: "event-0000" }, reason: "bad", expiresAt: null } as const;
    await imposeControl(world.deps, blacklist, ada);
    await change(id, "start");
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 1, refused: 1 });
  });
});

describe.skipIf(!redisInstalled)("a redrive that waits on Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await testRedis();
  });
  afterAll(() => redis.stop());

  test("starts after its queue was lost", async () => {
    world = await openWorld({ redisUrl: redis.url });
    await world.park(3);
    await world.worker();
    const { id } = await world.request({ startAt: inMs(HOUR_MS) });
    await redis.restart();
    await due(id);
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
  });
});

describe("a redrive that waits for a breaker", () => {
  const startWhen = { breakerCloses: true } as const;
  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
  });

  test("starts when a person releases it", async () => {
    await world.park(3);
    await forceBreaker("open");
    await world.worker();
    const { id, waitsFor } = await world.request({ startWhen });
    expect(waitsFor).toEqual(["breaker"]);
    expect((await world.redrive(id)).stalled?.code).toBe("waits-for-breaker");
    await forceBreaker(null);
    expect(await world.ended(id)).toMatchObject({ delivered: 3, breakerUntil: null });
  });

  test("starts at once when it is not open", async () => {
    await world.park(1);
    await world.worker();
    expect(await world.request({ startWhen })).toMatchObject({ state: "RUNNING", waitsFor: [] });
  });

  test("starts when a worker is back, though it closed while none was alive", async () => {
    await world.park(2);
    const first = await world.worker();
    await forceBreaker("open");
    const { id } = await world.request({ startWhen });
    await first.stop("a deploy");
    await forceBreaker(null);
    // Without a worker nobody knows the breaker.
    expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["breaker"] });
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 2 });
    expect(await starts(id)).toEqual(["worker"]);
  });

  test("is cancelled at the end of its wait, and its events are parked again", async () => {
    await world.park(2);
    await forceBreaker("open");
    await world.worker();
    const { id } = await world.request({ startWhen: { ...startWhen, until: inMs(HOUR_MS) } });
    await world.db.run("update redrives set breaker_until = now()");
    await expect.poll(async () => (await world.redrive(id)).state).toBe("CANCELLED");
    await expect.poll(() => world.statuses()).toEqual({ PENDING: 2 });
    expect((await world.redrive(id)).pauseReason).toBe("the breaker of its target did not close in time");
  });

  test("is started now by a person, and then waits as every other", async () => {
    await world.park(2);
    await forceBreaker("open");
    await world.worker();
    const { id } = await world.request({ startWhen });
    await change(id, "start");
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", breakerUntil: null });
    await forceBreaker(null);
    expect(await world.ended(id)).toMatchObject({ delivered: 2 });
  });
});
