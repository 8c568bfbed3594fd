import { expect, test } from "vitest";
import { PACES } from "@/lib/platform/plain/paces.pure";
import { goingOn } from "@/lib/redrive/scenarios/testing/lost-work";
import { describeOnBothQueues, UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";

/** With the intervals of production: at the latest once a lost worker is given up. */
const GOES_ON_MS = 10 * PACES.lostMs;

describeOnBothQueues("a redrive on $backend goes on", ({ redisUrl }) => {
  const world = worldOfEachTest({ redisUrl, paces: PACES });
  const { arrived, storeRestarts } = goingOn(world);

  test.each([{ awayMs: 3_000 }, { awayMs: 12_000 }])(
    "when the store was restarted, away for $awayMs ms",
    ({ awayMs }) => storeRestarts({ awayMs, perSecond: 50, goesOnMs: GOES_ON_MS, redisUrl: redisUrl() }),
  );

  test("with two workers whose wall clocks are two hours apart: nothing twice, nothing too early", async () => {
    await world.policy({ ...UNGUARDED, attemptTimeoutMs: 60_000, deadlineMs: 600_000 });
    await world.park(30);
    world.sink.answer = async ({ eventId, nth }) => {
      const index = Number(eventId.slice(6));
      if (index < 5 && nth === 1) return { status: 503, headers: { "retry-after": "24" } };
      // Under way when the other worker takes the slice for abandoned.
      if (index >= 5 && index < 10) await world.deps.clock.sleep(20_000);
      return 200;
    };
    await world.doomedWorker();
    const { id } = await world.request();
    await arrived(9);
    await world.doomedWorker({ wallAheadMs: 2 * 3_600_000 });
    expect(await world.ended(id)).toMatchObject({ delivered: 30, failed: 0, refused: 0 });
    for (let index = 0; index < 30; index++) {
      const times = world.sink.of(`event-${String(index).padStart(4, "0")}`).map((entry) => entry.atMs);
      expect(times).toHaveLength(index < 5 ? 2 : 1);
      if (index < 5) expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(24_000);
    }
  });
});
