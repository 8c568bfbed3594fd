import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const state = async (id: string) => (await world.redrive(id)).state;

/** These events come back from their consumer. */
async function bounce(redriveId: string, eventIds: readonly string[]): Promise<void> {
  const arrivals = eventIds.map((eventId) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: null, version: null, redrive: { redriveId, attempt: 1 } }),
  }));
  await parkEvents(world.deps, arrivals, localViewer("tester"));
}

const arrivedIds = () => world.sink.arrived.map(({ eventId }) => eventId);

describe("the brake", () => {
  test("pauses a redrive without a canary, says what it saw, and begins its sample anew at a resume", async () => {
    await world.park(90);
    await world.db.run("update targets set rate_per_second = 40");
    world.sink.answer = () => 422;
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => state(id)).toBe("PAUSED");
    await expect.poll(() => inHand()).toBe(0);
    const paused = await world.redrive(id);
    expect(paused.brake).toEqual({ ratio: 0.2, window: 50, minSample: 10, latencyMsMax: null });
    expect(paused.failed).toBeGreaterThanOrEqual(10);
    expect(paused.failed).toBeLessThan(60);
    expect(paused.pauseReason).toMatch(/^brake: \d\d failed and 0 bounced of the last \d\d \(100%, limit 20%\)$/);
    expect(paused.brakeSeen).toMatchObject({ cause: "failures", bounced: 0, p95Ms: null });
    expect(paused.brakeSeen!.failed).toBe(paused.brakeSeen!.outcomes);
    expect(paused.brakeSeen!.ratePerSecond).toBeGreaterThan(0);

    // The first failures after it pause nothing; what is left goes slower, by one change with one audit entry.
    const before = world.sink.arrived.length;
    world.sink.answer = () => (world.sink.arrived.length <= before + 2 ? 422 : 200);
    await changeRedrive(world.deps, { id, change: { action: "resume", ratePerSecond: 35 } }, localViewer("ada"));
    expect(await world.redrive(id)).toMatchObject({ ratePerSecond: 35, brakeSeen: null });
    expect(await world.ended(id)).toMatchObject({ state: "DONE", failed: before + 2, delivered: 90 - before - 2 });
    const entries = await world.db.query("select before, after from audit_entries where action = 'redrive.resumed'");
    expect(entries).toEqual([
      { before: { state: "PAUSED", ratePerSecond: null }, after: { state: "RUNNING", ratePerSecond: 35 } },
    ]);
  });

  test("pauses a redrive whose sends take too long, although all of them are taken; switched off it pauses none", async () => {
    await world.park(52, (index) => ({ errorCode: index < 40 ? "UPSTREAM_5XX" : "TIMEOUT" }));
    await world.db.run("update targets set rate_per_second = 40");
    world.sink.answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return 200;
    };
    await world.worker();
    const { id } = await world.request({
      select: { filter: { errorCode: ["UPSTREAM_5XX"] } },
      brake: { ratio: 0.2, window: 20, minSample: 10, latencyMsMax: 30 },
    });
    await expect.poll(() => state(id)).toBe("PAUSED");
    const paused = await world.redrive(id);
    expect(paused).toMatchObject({ failed: 0, brakeSeen: { cause: "latency", failed: 0 } });
    expect(paused.delivered).toBeLessThan(40);
    expect(paused.brakeSeen!.p95Ms).toBeGreaterThanOrEqual(60);
    expect(paused.pauseReason).toMatch(/^brake: the slowest 5% of the last sends took \d+ ms or more \(limit 30 ms\)$/);
    world.sink.answer = () => 422;
    const off = await world.request({ brake: null, select: { filter: { errorCode: ["TIMEOUT"] } } });
    expect(await world.ended(off.id)).toMatchObject({ state: "DONE", failed: 12, brake: null });
  });

  test("leaves out of its sample what was under way at the resume", async () => {
    await world.park(60);
    await world.db.run("update targets set rate_per_second = 40");
    const answered = Promise.withResolvers<void>();
    let broken = true;
    world.sink.answer = async () => {
      if (!broken) return 200;
      await answered.promise;
      return 422;
    };
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => world.sink.arrived.length).toBeGreaterThanOrEqual(12);
    await changeRedrive(world.deps, { id, change: { action: "pause" } }, localViewer("ada"));
    broken = false;
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("ada"));
    answered.resolve();
    await expect.poll(() => state(id)).toBe("DONE");
    expect((await world.redrive(id)).failed).toBeGreaterThanOrEqual(12);
  });

  test("counts bounces when nothing is sent any more", async () => {
    await world.park(31);
    // The last one waits for its target, so the redrive stays open while the others come back.
    world.sink.answer = ({ eventId }) =>
      eventId === "event-0030" ? { status: 429, headers: { "retry-after": "600" } } : 200;
    await world.worker();
    const { id } = await world.request();
    await expect.poll(async () => (await world.redrive(id)).delivered).toBe(30);
    const ids = Array.from({ length: 7 }, (_, index) => `event-000${index}`);
    await bounce(id, ids.slice(0, 6));
    expect(await state(id)).toBe("RUNNING");
    await bounce(id, ids);
    expect(await world.redrive(id)).toMatchObject({
      state: "PAUSED",
      bounced: 7,
      pauseReason: "brake: 0 failed and 7 bounced of the last 30 (23%, limit 20%)",
    });
    // What was sent before the resume is judged already: the sample after it holds none of it.
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("ada"));
    await bounce(
      id,
      Array.from({ length: 20 }, (_, index) => `event-00${index + 10}`),
    );
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", bounced: 27 });
  });

  test("sees a delivery that came back before it was committed once, as a bounce", async () => {
    await world.park(40);
    await world.db.run("update targets set rate_per_second = 40");
    world.sink.answer = async ({ eventId }) => {
      await bounce(String(world.sink.of(eventId)[0]!.headers["x-redrive-id"]), [eventId]);
      return 200;
    };
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => state(id)).toBe("PAUSED");
    expect((await world.redrive(id)).pauseReason).toMatch(/^brake: 0 failed and (\d+) bounced of the last \1 \(100%/);
  });

  async function inHand(): Promise<number> {
    const [row] = await world.db.query<{ n: number }>(
      "select count(*)::int as n from slice_owners where owner is not null",
    );
    return row!.n;
  }
});

describe("a canary", () => {
  test("takes each step only when the one before stayed quiet for its window", async () => {
    await world.park(30);
    await world.worker();
    const { id } = await world.request({
      canary: { steps: [1, 8], stopAtFailureRatio: 0.3, window: 40, quietMs: 1_000 },
    });
    await expect.poll(() => world.sink.arrived.length).toBe(1);
    await expect
      .poll(async () => (await world.redrive(id)).canary)
      .toMatchObject({ steps: [1, 8], quietMs: 1_000, released: 1, waitingUntil: expect.any(String) });
    expect((await world.redrive(id)).brake).toEqual({ ratio: 0.3, window: 40, minSample: 10, latencyMsMax: null });
    expect(await world.ended(id)).toMatchObject({ delivered: 30, canary: { released: null, waitingUntil: null } });
    const [done] = await world.db.query<{ second: number; third: number }>(
      `select extract(epoch from at[2] - at[1]) * 1000 as second, extract(epoch from at[9] - at[8]) * 1000 as third
         from (select array_agg(finished_at order by finished_at) as at from redrive_items) items`,
    );
    for (const waitedMs of [done!.second, done!.third]) expect(Number(waitedMs)).toBeGreaterThanOrEqual(1_000);
  });

  test("lets a step go once, however often and by how many workers it is enqueued", async () => {
    await world.park(30);
    const { id } = await world.request({
      canary: { steps: [3], stopAtFailureRatio: 0.3, window: 40, quietMs: 600_000 },
    });
    const enqueues = Array.from({ length: 12 }, () => ({ kind: "canary" as const, redriveId: id }));
    await world.lane.enqueue("main", enqueues);
    await Promise.all([world.worker(), world.worker()]);
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    await expect.poll(async () => (await world.lane.jobs("main", ["waiting"]))?.length).toBe(0);
    expect(world.sink.arrived).toHaveLength(3);
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
    await world.ended(id);
  });

  test("waits for the time that the settings name, and goes on at once when the consumer says that it processed the step", async () => {
    await world.db.run("insert into settings (key, value, updated_by) values ('canaryQuietMs', '600000', 'ada')");
    await world.park(6);
    await world.worker();
    const { id } = await world.request({ canary: { steps: [2], stopAtFailureRatio: 0.3, window: 40 } });
    expect((await world.redrive(id)).canary).toMatchObject({ quietMs: 600_000 });
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    const eventIds = arrivedIds();
    expect(eventIds).toHaveLength(2);
    await confirmEvents(world.deps, { source: "orders", eventIds: [eventIds[0]!] }, localViewer("consumer"));
    expect((await world.redrive(id)).canary).toMatchObject({ released: 2, waitingUntil: expect.any(String) });
    await confirmEvents(world.deps, { source: "orders", eventIds: [eventIds[1]!] }, localViewer("consumer"));
    expect((await world.redrive(id)).canary).toMatchObject({ released: null, waitingUntil: null });
    expect(await world.ended(id)).toMatchObject({ delivered: 6, confirmed: 2 });
  });
});
