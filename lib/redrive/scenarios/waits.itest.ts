import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { waitingWorld } from "@/lib/redrive/scenarios/testing/waits";
import type { Answer } from "@/lib/testing/sink";

/** A wait ends when a person says so; what a target has asked for outlives whoever waits. */
describe("a wait of the engine", () => {
  const { world, policy, busy, closed, gapMs } = waitingWorld();

  const change = (id: string, action: "pause" | "resume" | "cancel") =>
    changeRedrive(world.deps, { id, change: { action } }, localViewer("bob"));

  test("for a backoff, and one that a target asked for, end at once on cancel: no failure, no cooldown", async () => {
    // Longer than the test waits for the end of the redrive.
    await policy({ backoff: { kind: "fixed", delayMs: 200_000, jitter: { kind: "none" } }, deadlineMs: 1_000_000 });
    await world.park(2);
    world.sink.answer = ({ eventId }) => (eventId === "event-0000" ? 500 : busy(200));
    await world.worker();
    const { id } = await world.request();
    await expect.poll(closed).toBe(2);
    await change(id, "cancel");
    expect(await world.ended(id)).toMatchObject({ state: "CANCELLED", cancelled: 2, failed: 0 });
    for (const eventId of ["event-0000", "event-0001"]) {
      expect(await world.event(eventId)).toMatchObject({ status: "PENDING", failures: 0, cooldown_until: null });
    }
    expect(world.sink.arrived).toHaveLength(2);
  });

  test("for a token, and one for a place, end at once on cancel; what is being sent is sent to its end", async () => {
    // An attempt that a slow machine cut off before the cancel would be cancelled, too.
    await policy({ attemptTimeoutMs: 60_000, maxAttempts: 1 });
    await world.park(6);
    await world.db.run("update targets set rate_per_second = 0.5, burst = 2, bulkhead = 3, updated_at = now()");
    let answer = (_: Answer) => {};
    world.sink.answer = () => new Promise<Answer>((resolve) => (answer = resolve));
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length).toBe(1);
    await change(id, "cancel");
    await expect.poll(async () => (await world.redrive(id)).cancelled).toBe(5);
    answer(200);
    expect(await world.ended(id)).toMatchObject({ delivered: 1, cancelled: 5, failed: 0 });
  });

  test("that a target asked for survives pause and resume", async () => {
    await policy();
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? busy(2) : 200);
    await world.worker();
    const { id } = await world.request();
    await expect.poll(closed).toBe(1);
    await change(id, "pause");
    const [item] = await world.db.query<{ waits: boolean }>("select not_before > now() as waits from open_items");
    expect(item).toEqual({ waits: true });
    // Handed back while it waits, not afterwards.
    const handedBack = "select 1 from open_items where not_before > now()";
    await expect
      .poll(() => world.db.query("select slice from slice_owners where owner is not null"), { interval: 20 })
      .toEqual([]);
    expect(await world.db.query(handedBack)).toHaveLength(1);
    await change(id, "resume");
    expect(await world.ended(id)).toMatchObject({ delivered: 1, failed: 0 });
    expect(gapMs()).toBeGreaterThanOrEqual(2_000);
  });
});
