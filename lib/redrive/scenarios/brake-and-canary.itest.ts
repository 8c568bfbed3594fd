import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { confirmEvents } from "@/lib/redrive/confirm/confirm-events";
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
  test("pauses a redrive without a canary, and says what it saw", async () => {
    await world.park(90);
    await world.db.run("update targets set rate_per_second = 40");
    world.sink.answer = () => 422;
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => state(id)).toBe("PAUSED");
    const paused = await world.redrive(id);
    expect(paused.brake).toEqual({ ratio: 0.2, window: 50, minSample: 10, latencyMsMax: null });
    expect(paused.failed).toBeGreaterThanOrEqual(10);
    expect(paused.failed).toBeLessThan(60);
    expect(paused.pauseReason).toMatch(/^brake: \d\d failed and 0 bounced of the last \d\d \(100 %, limit 20 %\)$/);
    expect(paused.brakeSeen).toMatchObject({ cause: "failures", bounced: 0, p95Ms: null });
    expect(paused.brakeSeen!.failed).toBe(paused.brakeSeen!.outcomes);
    expect(paused.brakeSeen!.ratePerSecond).toBeGreaterThan(0);
  });

  test("pauses a redrive whose sends take too long, although all of them are taken", async () => {
    await world.park(40);
    await world.db.run("update targets set rate_per_second = 40");
    world.sink.answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return 200;
    };
    await world.worker();
    const { id } = await world.request({ brake: { ratio: 0.2, window: 20, minSample: 10, latencyMsMax: 30 } });
    await expect.poll(() => state(id)).toBe("PAUSED");
    const paused = await world.redrive(id);
    expect(paused).toMatchObject({ failed: 0, brakeSeen: { cause: "latency", failed: 0 } });
    expect(paused.delivered).toBeLessThan(40);
    expect(paused.brakeSeen!.p95Ms).toBeGreaterThanOrEqual(60);
    expect(paused.pauseReason).toMatch(/^brake: 95 % of the last sends took up to \d+ ms \(limit 30 ms\)$/);
  });

  test("lets what is left go on slower and with a canary, in one change with one audit entry", async () => {
    await world.park(60);
    await world.db.run("update targets set rate_per_second = 30");
    world.sink.answer = () => 422;
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => state(id)).toBe("PAUSED");
    await expect.poll(() => inHand()).toBe(0);
    world.sink.answer = () => 200;
    const failed = world.sink.arrived.length;
    const change = {
      action: "resume" as const,
      ratePerSecond: 20,
      canary: { steps: [2], stopAtFailureRatio: 0.2, window: 50, quietMs: 1_000 },
    };
    await changeRedrive(world.deps, { id, change }, localViewer("ada"));
    expect(await world.redrive(id)).toMatchObject({ ratePerSecond: 20, brakeSeen: null, canary: { released: 2 } });
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    expect(world.sink.arrived).toHaveLength(failed + 2);
    expect(await world.ended(id)).toMatchObject({ state: "DONE", failed, delivered: 60 - failed });
    const entries = await world.db.query("select before, after from audit_entries where action = 'redrive.resumed'");
    expect(entries).toEqual([
      {
        before: { state: "PAUSED", ratePerSecond: null, canary: null },
        after: { state: "RUNNING", ratePerSecond: 20, canary: change.canary },
      },
    ]);
  });

  test("never decides on fewer than ten outcomes", async () => {
    await world.park(9);
    await world.db.run("update targets set rate_per_second = 25");
    world.sink.answer = () => 422;
    await world.worker();
    expect(await world.ended((await world.request()).id)).toMatchObject({ state: "DONE", failed: 9 });
  });

  test("can be switched off, and set", async () => {
    await world.park(48, (index) => ({ errorCode: index < 24 ? "TIMEOUT" : "UPSTREAM_5XX" }));
    world.sink.answer = ({ eventId }) => (Number(eventId.slice(6)) % 3 === 0 ? 422 : 200);
    await world.worker();
    const off = await world.request({ brake: null, select: { filter: { errorCode: ["TIMEOUT"] } } });
    expect(await world.ended(off.id)).toMatchObject({ state: "DONE", failed: 8, brake: null });
    const lenient = { ratio: 0.4, window: 12, minSample: 20, latencyMsMax: null };
    const set = await world.request({ brake: lenient, select: { filter: { errorCode: ["UPSTREAM_5XX"] } } });
    expect(await world.ended(set.id)).toMatchObject({ state: "DONE", failed: 8, brake: { ...lenient, window: 20 } });
  });

  test("begins its sample anew at a resume: the first failures after it pause nothing", async () => {
    await world.park(60);
    await world.db.run("update targets set rate_per_second = 30");
    world.sink.answer = () => 422;
    await world.worker();
    const { id } = await world.request();
    await expect.poll(() => state(id)).toBe("PAUSED");
    await expect.poll(() => inHand()).toBe(0);
    const before = world.sink.arrived.length;
    world.sink.answer = () => (world.sink.arrived.length <= before + 2 ? 422 : 200);
    await changeRedrive(world.deps, { id, change: { action: "resume" } }, localViewer("ada"));
    const done = await world.ended(id);
    expect(done).toMatchObject({ state: "DONE", failed: before + 2, delivered: 60 - before - 2 });
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
      pauseReason: "brake: 0 failed and 7 bounced of the last 30 (23 %, limit 20 %)",
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
    expect((await world.redrive(id)).pauseReason).toMatch(/^brake: 0 failed and (\d+) bounced of the last \1 \(100 %/);
  });

  async function inHand(): Promise<number> {
    const [row] = await world.db.query<{ n: number }>(
      "select count(*)::int as n from redrive_items where state = 'open' and claimed_until >= now()",
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

  test("lets a step go once, however often and by how many workers it is rung", async () => {
    await world.park(30);
    const { id } = await world.request({
      canary: { steps: [3], stopAtFailureRatio: 0.3, window: 40, quietMs: 600_000 },
    });
    const rings = Array.from({ length: 12 }, () => ({ kind: "canary" as const, redriveId: id }));
    await world.lane.ring("main", rings);
    await Promise.all([world.worker(), world.worker()]);
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    await expect.poll(async () => (await world.lane.jobs("main", ["waiting"]))?.length).toBe(0);
    expect(world.sink.arrived).toHaveLength(3);
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, localViewer("ada"));
    await world.ended(id);
  });

  test("goes on at once when the consumer says that it processed the step", async () => {
    await world.park(6);
    await world.worker();
    const { id } = await world.request({
      canary: { steps: [2], stopAtFailureRatio: 0.3, window: 40, quietMs: 600_000 },
    });
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    const eventIds = arrivedIds();
    expect(eventIds).toHaveLength(2);
    await confirmEvents(world.deps, { source: "orders", eventIds: [eventIds[0]!] }, localViewer("consumer"));
    expect((await world.redrive(id)).canary).toMatchObject({ released: 2, waitingUntil: expect.any(String) });
    await confirmEvents(world.deps, { source: "orders", eventIds: [eventIds[1]!] }, localViewer("consumer"));
    expect((await world.redrive(id)).canary).toMatchObject({ released: null, waitingUntil: null });
    expect(await world.ended(id)).toMatchObject({ delivered: 6, confirmed: 2 });
  });

  test("takes the word of a consumer that was quicker than the end of the delivery", async () => {
    await world.park(3);
    // The consumer says that it processed the event before the send that brought it has its answer.
    world.sink.answer = async ({ eventId }) => {
      await confirmEvents(world.deps, { source: "orders", eventIds: [eventId] }, localViewer("consumer"));
      return { status: 200 };
    };
    await world.worker();
    const { id } = await world.request({
      canary: { steps: [1], stopAtFailureRatio: 0.3, window: 40, quietMs: 600_000 },
    });
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
    // The word is looked for in a transaction of its own, after the one that ends the delivery.
    await expect.poll(async () => (await world.redrive(id)).confirmed).toBe(3);
  });

  test("sends another event in place of one that came back, and waits for that one too", async () => {
    await world.park(8);
    await world.worker();
    const { id } = await world.request({ canary: { steps: [2], stopAtFailureRatio: 0.3, window: 40, quietMs: 1_000 } });
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    const [first] = arrivedIds();
    await bounce(id, [first!]);
    expect((await world.redrive(id)).canary).toMatchObject({ released: 2, waitingUntil: null });
    await expect.poll(() => world.sink.arrived.length).toBe(3);
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    expect(world.sink.arrived).toHaveLength(3);
    expect(await world.ended(id)).toMatchObject({ delivered: 8, bounced: 1, canary: { released: null } });
  });

  test("whose worker was killed while it waited goes on with the next worker", async () => {
    await world.park(5);
    const first = await world.doomedWorker();
    const { id } = await world.request({ canary: { steps: [1], stopAtFailureRatio: 0.3, window: 40, quietMs: 1_000 } });
    await expect.poll(async () => (await world.redrive(id)).canary?.waitingUntil).toEqual(expect.any(String));
    first.kill("SIGKILL");
    await world.worker();
    expect(await world.ended(id)).toMatchObject({ delivered: 5, canary: { released: null } });
    expect(world.sink.arrived).toHaveLength(5);
  });

  test("waits for the time that the settings name when the redrive names none", async () => {
    await world.db.run("insert into settings (key, value, updated_by) values ('canaryQuietMs', '700', 'ada')");
    await world.park(3);
    await world.worker();
    const { id } = await world.request({ canary: true });
    expect((await world.redrive(id)).canary).toMatchObject({ quietMs: 700 });
    expect(await world.ended(id)).toMatchObject({ delivered: 3 });
  });
});
