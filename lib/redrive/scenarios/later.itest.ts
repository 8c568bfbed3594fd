import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const HOUR_MS = 3_600_000;
const bob = localViewer("bob");
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

const world = worldOfEachTest();

const change = (id: string, action: "pause" | "resume" | "cancel" | "start") =>
  changeRedrive(world.deps, { id, change: { action } }, bob);
const starts = async (id: string) =>
  (
    await world.db.query<{ actor: string }>(
      "select actor from audit_entries where redrive_id = $1 and action = 'redrive.started'",
      [id],
    )
  ).map(({ actor }) => actor);
const forceBreaker = (force: "open" | null) =>
  world.db.run("update targets set breaker_force = $1, updated_at = now() where name = 'orders'", [force]);

describe("a redrive at a time", () => {
  test("starts by the database's clock, once, when the machines of its workers are hours off", async () => {
    await world.park(3);
    await world.worker({ wallAheadMs: HOUR_MS });
    await world.worker({ wallAheadMs: -HOUR_MS });
    const at = Date.now() + 2_000;
    const { id, state, waitsFor } = await world.request({ startAt: new Date(at).toISOString() });
    expect({ state, waitsFor }).toEqual({ state: "PLANNED", waitsFor: ["time"] });
    expect(await world.redrive(id)).toMatchObject({ stalled: { code: "starts-later" }, startedAt: null });
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    expect(world.sink.arrived[0]!.atMs + performance.timeOrigin).toBeGreaterThanOrEqual(at);
    expect(await starts(id)).toEqual(["worker"]);
  });

  test("still waits after it was paused and resumed; gives its events back, or is started now by a person, once", async () => {
    await world.park(4);
    const ids = await world.idsOf();
    const ask = (from: number) => world.request({ select: { ids: ids.slice(from, from + 2) }, startAt: inMs(HOUR_MS) });
    const [cancelled, started] = [await ask(0), await ask(2)];
    for (const { id } of [cancelled, started]) {
      await change(id, "pause");
      await change(id, "resume");
      expect(await world.redrive(id)).toMatchObject({ state: "PLANNED", waitsFor: ["time"] });
    }
    await change(cancelled.id, "cancel");
    expect(await world.statuses()).toEqual({ PENDING: 2, QUEUED: 2 });
    await Promise.all([change(started.id, "start"), change(started.id, "start")]);
    await world.worker();
    expect(await world.ended(started.id)).toMatchObject({ delivered: 2, startAt: null });
    expect(await starts(started.id)).toEqual(["bob"]);
  });

  test("of the past, or beyond 30 days, is refused with the server's time", async () => {
    await world.park(1);
    for (const [ms, words] of [
      [-1_000, "must be after now"],
      [31 * 24 * HOUR_MS, "must be within 30 days"],
    ] as const) {
      await expect(world.request({ startAt: inMs(ms) })).rejects.toMatchObject({
        code: "invalid-request",
        message: expect.stringMatching(new RegExp(`startAt ${words}: it is \\d{4}-.*Z by the server's clock`)),
      });
    }
    expect(await world.statuses()).toEqual({ PENDING: 1 });
  });
});

describe("a redrive that waits for a breaker", () => {
  const startWhen = { breakerCloses: true } as const;
  test("starts when a person releases it", async () => {
    await world.park(3);
    await forceBreaker("open");
    await world.worker();
    const { id, waitsFor } = await world.request({ startWhen });
    expect(waitsFor).toEqual(["breaker"]);
    expect((await world.redrive(id)).stalled?.code).toBe("waits-for-breaker");
    await forceBreaker(null);
    expect(await world.ended(id)).toMatchObject({ delivered: 3, breakerUntil: null });
    // One whose breaker is not open waits for nothing.
    await world.park(1, () => ({ eventId: "next" }));
    expect(await world.request({ startWhen })).toMatchObject({ state: "RUNNING", waitsFor: [] });
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
});
