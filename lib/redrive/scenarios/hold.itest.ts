import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { describeOnBothQueues, type World, worldOfEachTest } from "@/lib/testing/redrive-world";

/** Milliseconds from the end of the hold to the first send, by the clock of the database on this machine. */
async function firstSendAfterHold(world: World, id: string): Promise<number> {
  const holdUntil = Date.parse((await world.redrive(id)).holdUntil!);
  return world.sink.arrived[0]!.atMs + performance.timeOrigin - holdUntil;
}

describeOnBothQueues("a redrive that is held, on $backend", ({ redisUrl }) => {
  const world = worldOfEachTest({ redisUrl });

  test("starts by itself right after the hold, and sends nothing before", async () => {
    await world.park(3);
    await world.worker();
    const answer = await world.request({ holdMs: 2_000, ratePerSecond: 100 });
    const held = await world.redrive(answer.id);
    expect(held).toMatchObject({ state: "RUNNING", holdUntil: answer.holdUntil, delivered: 0 });
    expect(held.etaMs).toBeGreaterThan(100);
    expect(await world.ended(answer.id)).toMatchObject({ delivered: 3 });
    expect(await firstSendAfterHold(world, answer.id)).toBeGreaterThan(0);
  });
});

describe("a redrive that is held", () => {
  const world = worldOfEachTest();

  test("keeps its hold when it is enqueued early, paused, resumed, and when its worker is replaced", async () => {
    await world.park(3);
    const first = await world.worker();
    const { id } = await world.request({
      holdMs: 1_500,
      canary: { steps: [1], stopAtFailureRatio: 0.2, window: 50, quietMs: 300 },
    });
    await world.lane.enqueue("main", [{ kind: "canary", redriveId: id }]);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, localViewer("bob"));
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("bob"));
    await first.stop("a deploy");
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(await firstSendAfterHold(world, id)).toBeGreaterThan(0);
  });
});

describe("an undo", () => {
  const world = worldOfEachTest();
  const undo = (id: string) =>
    changeRedrive(world.deps, { id, change: { action: "undo" } }, localViewer("ada")).then(
      () => "undone",
      (error: { code: string }) => error.code,
    );

  test("is refused when the hold is over by the database's clock, whatever the clocks of worker and web say", async () => {
    await world.park(3);
    await world.worker({ wallAheadMs: 3_600_000 });
    const { id } = await world.request({ holdMs: 2_000 });
    await world.db.run("update redrives set hold_until = clock_timestamp()");
    expect(await undo(id)).toBe("illegal-transition");
    expect(await world.ended(id)).toMatchObject({ state: "DONE", delivered: 3 });
  });

  test("is decided by the clock at the moment of the decision, when it has waited for the redrive's row", async () => {
    await world.park(1);
    const { id } = await world.request({ holdMs: 60_000 });
    let undone: Promise<string> | null = null;
    await world.db.transaction(async (tx) => {
      await tx.run("update redrives set hold_until = clock_timestamp() + interval '700 ms' where id = $1", [id]);
      undone = undo(id);
      const waits =
        "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%redrives%'";
      await expect.poll(async () => (await world.db.query<{ n: number }>(waits))[0]!.n).toBe(1);
      const over = "select hold_until < clock_timestamp() as over from redrives where id = $1";
      await expect.poll(async () => (await tx.query<{ over: boolean }>(over, [id]))[0]!.over).toBe(true);
    });
    expect(await undone).toBe("illegal-transition");
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
  });

  test("of two tabs is one undo with one audit entry", async () => {
    await world.park(2);
    const { id } = await world.request({ holdMs: 60_000 });
    expect(await Promise.all([undo(id), undo(id)])).toEqual(["undone", "undone"]);
    expect(await world.db.query("select before, after from audit_entries where action = 'redrive.cancelled'")).toEqual([
      { before: { state: "RUNNING" }, after: { state: "CANCELLED", undone: true } },
    ]);
  });

  test("takes back a large set that is still being frozen, after its hold too", async () => {
    await world.park(2_100);
    const { id, state } = await world.request({ holdMs: 1, reason: "a large one" });
    expect(state).toBe("PLANNING");
    expect(await undo(id)).toBe("undone");
    await world.worker();
    await expect.poll(async () => (await world.redrive(id)).open).toBe(0);
    expect(await world.statuses()).toEqual({ PENDING: 2_100 });
    expect(world.sink.arrived).toEqual([]);
  });
});
