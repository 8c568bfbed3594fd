import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import { listTargets } from "@/lib/sources/targets/target-list.read";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** A target that fails and recovers: the redrive goes on by itself. */
describe("a breaker that opened on the real path", () => {
  const world = worldOfEachTest();

  const SLOW_LANE = POLICY_PRESETS["slow-lane"];
  const policy = (change: Partial<Policy>) => world.policy({ ...SLOW_LANE, ...change });

  /** As the worker's heartbeat has it. */
  const breaker = async () => (await listTargets(world.db, localViewer(), () => null)).items[0]?.engine[0]?.breaker;

  test("lets probes through when its time is over: every event is delivered, without a person", async () => {
    await policy({ breaker: { ...SLOW_LANE.breaker, openMs: 1_000, openMsMax: 1_000 } });
    await world.park(40);
    const firstMs = () => world.sink.arrived[0]?.atMs ?? 0;
    world.sink.answer = () => (performance.now() - firstMs() < 1_500 ? 500 : 200);
    await world.worker();
    const { id } = await world.request();
    expect(await world.ended(id)).toMatchObject({ delivered: 40, failed: 0, refused: 0 });
    expect(world.sink.arrived.length).toBeGreaterThan(40);
    expect(await world.statuses()).toEqual({ REDRIVEN: 40 });

    // A redrive that comes later finds a breaker that is closed.
    await world.park(1, () => ({ eventId: "later" }));
    const later = await world.request({ select: { ids: await world.idsOf(["later"]) } });
    expect(await world.ended(later.id)).toMatchObject({ delivered: 1, refused: 0 });
  });

  test("sends no more than its probes while it is half-open, and intends nothing else", async () => {
    await policy({
      maxAttempts: 3,
      attemptTimeoutMs: 20_000,
      deadlineMs: 100_000,
      budget: { kind: "unlimited" },
      breaker: {
        trip: { kind: "consecutive", failures: 4 },
        openMs: 1_500,
        openMsMax: 1_500,
        probes: 2,
        probeMsMax: 30_000,
      },
    });
    // Several slices: the one that holds the probes waits for them anyway.
    await world.park(300);
    await world.db.run("update targets set rate_per_second = 300, bulkhead = 4, updated_at = now()");
    let phase: "failing" | "hanging" | "well" = "failing";
    const release: (() => void)[] = [];
    world.sink.answer = () => {
      if (phase === "failing") return 500;
      if (phase === "well") return 200;
      return new Promise((resolve) => release.push(() => resolve(200)));
    };
    await world.worker();
    const { id } = await world.request();
    const inHand = async () => (await world.db.query("select 1 from open_sends")).length;
    // What was under way when the breaker opened has its answer before the probes are held: it is no probe.
    await expect.poll(async () => [await inHand(), (await breaker())?.state]).toEqual([0, "open"]);
    phase = "hanging";
    await expect.poll(() => release.length).toBe(2);
    await expect.poll(inHand).toBe(2);
    // Longer than a slice waits before it looks again.
    await world.deps.clock.sleep(1_000);
    expect(release.length).toBe(2);
    expect(await inHand()).toBe(2);
    phase = "well";
    for (const answer of release) answer();
    const done = await world.ended(id);
    expect(done.delivered + done.failed).toBe(300);
    expect(done.refused).toBe(0);
  });
});
