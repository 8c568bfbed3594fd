import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { claimItems } from "@/lib/redrive/run/store/claim-items.write";
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

  test("keeps its hold when it is rung early, paused, resumed, and when its worker is replaced", async () => {
    await world.park(3);
    const first = await world.worker();
    const { id } = await world.request({
      holdMs: 1_500,
      canary: { steps: [1], stopAtFailureRatio: 0.2, window: 50, quietMs: 300 },
    });
    await world.lane.ring("main", [{ kind: "slice", redriveId: id, slice: 0 }]);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, localViewer("bob"));
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("bob"));
    await first.stop("a deploy");
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(await firstSendAfterHold(world, id)).toBeGreaterThan(0);
  });

  test("that is cancelled in time sends nothing, and leaves its events as they were", async () => {
    await world.park(4, (index) => ({ aggregateId: `order-${index}`, version: 3n }));
    await world.worker();
    const { id } = await world.request({ holdMs: 60_000 });
    expect(await world.statuses()).toEqual({ QUEUED: 4 });
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
    expect(await world.redrive(id)).toMatchObject({ state: "CANCELLED", cancelled: 4, open: 0 });
    expect(await world.event("event-0002")).toMatchObject({
      status: "PENDING",
      failures: 0,
      redrives: 0,
      cooldown_until: null,
    });
    expect(await world.db.query("select * from aggregates where consecutive_failures > 0")).toEqual([]);
    expect(await world.db.query("select * from redrive_attempts")).toEqual([]);
    // They can be redriven at once.
    expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 4, refused: 0 });
    expect(world.sink.arrived).toHaveLength(4);
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

  test("at the last moment either takes everything back, or is refused and everything is sent", async () => {
    await world.worker({ wallAheadMs: 3_600_000 });
    for (let round = 0; round < 6; round++) {
      await world.park(2, (index) => ({ eventId: `r${round}-${index}` }));
      const before = world.sink.arrived.length;
      const { id } = await world.request({ holdMs: 500, select: { filter: { status: ["PENDING"] } } });
      const { holdUntil } = await world.redrive(id);
      const aheadMs = [60, 30, 10, 5, 0, -10][round]!;
      await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThanOrEqual(Date.parse(holdUntil!) - aheadMs);
      const answer = await undo(id);
      const ended = await world.ended(id);
      const sent = world.sink.arrived.length - before;
      expect([answer, ended.state, sent]).toEqual(
        answer === "undone" ? ["undone", "CANCELLED", 0] : ["illegal-transition", "DONE", 2],
      );
      await world.db.run("update dlq_events set cooldown_until = null where status = 'PENDING'");
      if (answer === "undone") await world.ended((await world.request()).id);
    }
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

describe("a hold", () => {
  const world = worldOfEachTest({ invariants: false });

  test("lets no claim take an item, by the database's clock", async () => {
    await world.park(2);
    const { id } = await world.request({ holdMs: 60_000 });
    const claim = () => claimItems(world.db, { redriveId: id, slices: [0, 0], limit: 100, leaseMs: 30_000 });
    expect(await claim()).toEqual([]);
    await world.db.run("update redrives set hold_until = now()");
    expect(await claim()).toHaveLength(2);
  });
});
