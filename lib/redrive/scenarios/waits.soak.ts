import { describe, expect, test } from "vitest";
import { waitingWorld } from "@/lib/redrive/scenarios/testing/waits";

/** What a target has asked for outlives whoever waits. */
describe("a wait of the engine that a target asked for", () => {
  const { world, policy, busy, closed, gapMs } = waitingWorld();

  test.each([
    { end: "the stop of its worker, which does not wait for it", afterS: 20 },
    { end: "kill -9 of its worker", afterS: 18 },
  ])("survives $end", async ({ end, afterS }) => {
    await policy();
    await world.park(1);
    world.sink.answer = ({ nth }) => (nth === 1 ? busy(afterS) : 200);
    const killed = end.startsWith("kill") ? await world.doomedWorker() : null;
    const stopped = killed ? null : await world.worker();
    const { id } = await world.request();
    await expect.poll(closed).toBe(1);
    killed?.kill("SIGKILL");
    await stopped?.stop("a deploy");
    if (stopped) expect(await world.db.query("select 1 from open_items where not_before > now()")).toHaveLength(1);
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 1, failed: 0 });
    expect(gapMs()).toBeGreaterThanOrEqual(afterS * 1_000);
  });
});
