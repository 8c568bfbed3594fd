import { describe, expect, test } from "vitest";
import type { Policy } from "@/lib/retry/policy";
import { UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";
import type { Answer } from "@/lib/testing/sink";

/** A wait ends when a person says so; what a target has asked for outlives whoever waits. */
describe("a wait of the engine", () => {
  const world = worldOfEachTest();

  const policy = (change: Partial<Policy> = {}) =>
    world.policy({
      ...UNGUARDED,
      maxAttempts: 4,
      attemptTimeoutMs: 15_000,
      deadlineMs: 200_000,
      backoff: { kind: "fixed", delayMs: 40_000, jitter: { kind: "none" } },
      ...change,
    });
  const busy = (afterS: number): Answer => ({ status: 503, headers: { "retry-after": String(afterS) } });
  const closed = async () =>
    (
      await world.db.query<{ n: number }>("select count(*)::int as n from redrive_attempts where closed_at is not null")
    )[0]!.n;
  /** Milliseconds from the first to the second arrival of the only event. */
  const gapMs = () => world.sink.arrived[1]!.atMs - world.sink.arrived[0]!.atMs;

  test("that a target asked for survives the stop of its worker, which does not wait for it", async () => {
    await policy();
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? busy(20) : 200);
    const first = await world.worker();
    const { id } = await world.request();
    await expect.poll(closed).toBe(1);
    await first.stop("a deploy");
    expect(await world.db.query("select 1 from redrive_items where not_before > now()")).toHaveLength(1);
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 1, failed: 0 });
    expect(gapMs()).toBeGreaterThanOrEqual(20_000);
  });

  test("that a target asked for survives kill -9 of its worker", async () => {
    await policy();
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? busy(18) : 200);
    const first = await world.doomedWorker();
    const { id } = await world.request();
    await expect.poll(closed).toBe(1);
    first.kill("SIGKILL");
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 1, failed: 0 });
    expect(gapMs()).toBeGreaterThanOrEqual(18_000);
  });
});
