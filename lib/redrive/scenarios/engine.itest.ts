import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { prometheusText } from "@/lib/platform/plain/prometheus.pure";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import type { TargetEngine } from "@/lib/sources/sources.shapes";
import { changeTarget } from "@/lib/sources/targets/change-target";
import { listTargets } from "@/lib/sources/targets/target-list.read";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";
import { TEST_PACES, UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";

/** The retry engine as a worker uses it: what an operator sets must be what happens on the wire. */

const world = worldOfEachTest();

/** Quick repeats, so that each test adds the one part it is about. */
const policy = (change: Partial<Policy>) =>
  world.policy({
    ...UNGUARDED,
    maxAttempts: 4,
    attemptTimeoutMs: 15_000,
    deadlineMs: 150_000,
    backoff: { kind: "fixed", delayMs: 20, jitter: { kind: "none" } },
    ...change,
  });

const order = (breaker: TargetChange["breaker"]) =>
  changeTarget(world.deps, { name: "orders", change: { breaker, reason: "tested" } }, localViewer("ada"));

/** What the worker last said of the target. */
async function engine(): Promise<TargetEngine | null> {
  const { items } = await listTargets(world.db, localViewer(), () => null);
  return items.find((target) => target.name === "orders")?.engine[0] ?? null;
}

const actions = async () =>
  (
    await world.db.query<{ action: string; after: Record<string, unknown> }>(
      "select action, after from audit_entries where subject_kind = 'target' order by id",
    )
  ).map((row) => row);

const metrics = async () => prometheusText(await readMetrics(world.db, localViewer(), world.deps.clock.wallMs()));

const name = (index: number) => `event-${String(index).padStart(4, "0")}`;

describe("layers of retries", () => {
  test("never multiply: a target that always fails is sent to as often as the policy says", async () => {
    await policy({ maxAttempts: 4 });
    await world.park(6);
    world.sink.answer = () => 503;
    await world.worker();
    expect(await world.ended((await world.request()).id)).toMatchObject({ failed: 6 });
    expect(world.sink.arrived).toHaveLength(6 * 4);
    for (let index = 0; index < 6; index++) {
      const counts = world.sink.of(name(index)).map((entry) => entry.headers["x-retry-count"]);
      expect(counts).toEqual([undefined, "1", "2", "3"]);
    }
    await expect.poll(metrics).toMatch(/^retry_attempts_total\{target="orders",worker="[^"]+"\} 24$/m);
    // One operation of four sends.
    expect(await metrics()).toMatch(/^retry_rate\{target="orders"\} 3$/m);
    expect(await metrics()).toMatch(/^retry_rate_per_attempt\{target="orders"\} 0\.75$/m);
    expect(await metrics()).toMatch(/^retry_exhausted_total\{target="orders",worker="[^"]+"\} 6$/m);
    expect(await metrics()).toMatch(/^bucket_state\{target="orders",state="shared"\} 1$/m);

    // What was repeated before it was parked counts against the policy, and is passed on.
    await world.park(3, (index) => ({
      eventId: `again-${index}`,
      headers: [["X-Retry-Count", ["1", "3", "99"][index]!]],
    }));
    const again = [0, 1, 2].map((index) => `again-${index}`);
    const { id } = await world.request({ select: { ids: await world.idsOf(again) } });
    await world.ended(id);
    const counts = again.map((eventId) => world.sink.of(eventId).map((entry) => entry.headers["x-retry-count"]));
    expect(counts).toEqual([["1", "2", "3"], ["3"], ["99"]]);
    // A redrive takes the built-in presets along as well.
    const [row] = await world.db.query<{ policies: Record<string, { version: number; body: unknown }> }>(
      "select policies from redrives where id = $1",
      [id],
    );
    expect(row!.policies.ladder).toEqual({ name: "ladder", version: 0, body: POLICY_PRESETS.ladder });
  });
});

describe("an operator's order to the breaker", () => {
  const BREAKER: Policy["breaker"] = {
    trip: { kind: "consecutive", failures: 3 },
    openMs: 300_000,
    openMsMax: 300_000,
    probes: 1,
    probeMsMax: 20_000,
  };

  test("open stops a page in the middle, auto lets it go on, and nothing goes twice", async () => {
    await policy({ breaker: BREAKER });
    await world.park(120);
    await world.db.run("update targets set rate_per_second = 30, updated_at = now()");
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThan(5);
    await order("open");
    await expect.poll(async () => (await engine())?.breaker?.forced).toBe(true);
    // What was under way when the order came is sent to its end.
    await expect.poll(() => world.db.query("select 1 from open_sends")).toEqual([]);
    const stoppedAt = world.sink.arrived.length;
    const seen = (await engine())!.asOf;
    // Two more heartbeats: as long as the orders before it took to arrive.
    await expect
      .poll(async () => Date.parse((await engine())!.asOf) - Date.parse(seen))
      .toBeGreaterThan(2 * TEST_PACES.heartbeatMs);
    expect(world.sink.arrived.length).toBe(stoppedAt);
    expect(stoppedAt).toBeLessThan(120);

    await order("auto");
    await world.db.run("update targets set rate_per_second = null, updated_at = now()");
    expect(await world.ended(id)).toMatchObject({ delivered: 120, failed: 0 });
    expect(world.sink.arrived).toHaveLength(120);
  });
});

describe("a target", () => {
  const BREAKER: Policy["breaker"] = {
    trip: { kind: "consecutive", failures: 3 },
    openMs: 300_000,
    openMsMax: 300_000,
    probes: 1,
    probeMsMax: 20_000,
  };

  test("has one breaker, whatever version of the policy a redrive has frozen, and whatever its bulkhead", async () => {
    await policy({ maxAttempts: 1, breaker: BREAKER });
    await world.db.run("update targets set bulkhead = 1, updated_at = now()");
    await world.park(9);
    world.sink.answer = () => 503;
    await world.worker();
    const first = await world.request({ select: { ids: await world.idsOf([0, 1, 2, 3].map(name)) } });
    await expect.poll(async () => (await engine())?.breaker?.state).toBe("open");
    expect(world.sink.arrived).toHaveLength(3);
    const seen = (await engine())!.latency.samples;

    const version = await policy({ maxAttempts: 2, breaker: BREAKER, deadlineMs: 160_000 });
    await world.db.run("update targets set bulkhead = 3, updated_at = now()");
    const second = await world.request({ select: { ids: await world.idsOf([4, 5, 6, 7, 8].map(name)) } });
    await expect.poll(async () => (await engine())?.policy?.version).toBe(version);
    expect(await engine()).toMatchObject({ breaker: { state: "open" }, bulkhead: { permits: 3, inUse: 0 } });
    expect((await engine())!.latency.samples).toBe(seen);
    expect(await world.redrive(second.id)).toMatchObject({ open: 5, failed: 0, refused: 0 });
    expect(world.sink.arrived).toHaveLength(3);

    world.sink.answer = () => 200;
    await order("reset");
    expect(await world.ended(second.id)).toMatchObject({ delivered: 5 });
    expect(await world.ended(first.id)).toMatchObject({ failed: 3, delivered: 1 });
  });
});

describe("self-healing", () => {
  test("slows a target down that needs repeats, steps back when it is quiet; both audited and shown", async () => {
    const healing = {
      ...{ retryRatio: 0.3, timeoutRatio: 0.9, callsMin: 5, windowMs: 1_500 },
      ...{ stepFactor: 2, stepsMax: 1, quietRatio: 0.5, cooldownMs: 0 },
    };
    await policy({ healing });
    await world.park(150);
    await world.db.run("update targets set rate_per_second = 60, updated_at = now()");
    world.sink.answer = ({ nth }) => (nth === 1 ? 503 : 200);
    await world.worker();
    const { id } = await world.request();
    await expect.poll(async () => (await engine())?.healing).toEqual({ steps: 1, backoffFactor: 2, rateFactor: 0.5 });
    // A step is taken first and audited then.
    await expect
      .poll(async () => (await actions())[0])
      .toMatchObject({
        action: "target.healing",
        after: { direction: "slow-down", cause: "retry-ratio", steps: 1, rateFactor: 0.5 },
      });
    await world.db.run("update targets set rate_per_second = null, updated_at = now()");
    expect(await world.ended(id)).toMatchObject({ delivered: 150 });
    await expect.poll(async () => (await engine())?.healing?.steps).toBe(0);
    await expect
      .poll(async () => (await actions()).at(-1))
      .toMatchObject({ after: { direction: "speed-up", cause: "quiet", steps: 0 } });
  });
});

describe("policies in use", () => {
  test("hedging is switched on by the policy: a second send overtakes a silent first, with the same key", async () => {
    await policy({ hedge: { delayMs: 150, sendsMax: 2 }, attemptTimeoutMs: 60_000, deadlineMs: 300_000 });
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? "hang" : 200);
    await world.worker();
    expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 1, failed: 0 });
    expect(world.sink.arrived.map((entry) => entry.key)).toEqual(["orders:event-0000", "orders:event-0000"]);
    const states = await world.db.query("select attempt, state from sends order by attempt");
    expect(states).toEqual([
      { attempt: 1, state: "ambiguous" },
      { attempt: 2, state: "delivered" },
    ]);
    await expect.poll(async () => (await engine())?.counters.hedges).toBe(1);
  });
});
