import { once } from "node:events";
import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { PACES } from "@/lib/platform/plain/paces.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { harm, NO_HARM, orders, outage } from "@/lib/redrive/scenarios/testing/outage";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic, testKafka } from "@/lib/testing/kafka";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** Longer than any hold, and about as long as the restart of a broker. */
const AWAY_MS = 17_000;
const EVENTS = 400;

const world = worldOfEachTest({ ratePerSecond: 100, paces: PACES });

const delivered = async (id: string) => (await world.redrive(id)).delivered;

test("an HTTP port that is closed for 17 s: 400 of 400 delivered, none failed or cooled, not paused", {
  timeout: 180_000,
}, async () => {
  await world.park(EVENTS, orders);
  await world.worker();
  await world.worker();
  const { id } = await world.request();
  const says = /^Waits for orders, not reached for .* \(ECONNREFUSED\)\. It continues when the target is back/;
  await outage(world, id, { target: world.sink, awayMs: AWAY_MS, says });
  expect(world.sink.effects()).toHaveLength(EVENTS);
});

test("a worker that is killed, a pause and another worker in the wait: all is delivered once the target is back", {
  timeout: 180_000,
}, async () => {
  await world.park(EVENTS, orders);
  const doomed = await world.doomedWorker();
  const { id } = await world.request();
  await expect.poll(() => delivered(id), { timeout: 30_000 }).toBeGreaterThan(40);
  await world.sink.away();
  const waits = () => expect.poll(async () => (await world.redrive(id)).stalled?.code, { timeout: 20_000 });
  await waits().toBe("target-away");
  doomed.kill("SIGKILL");
  await once(doomed, "exit");
  const before = await delivered(id);
  await world.worker();
  await waits().toBe("target-away");
  const change = (action: "pause" | "resume") =>
    changeRedrive(world.deps, { id, change: { action } }, localViewer("ada"));
  await change("pause");
  await expect.poll(async () => (await world.redrive(id)).state).toBe("PAUSED");
  await world.sink.back();
  await change("resume");
  expect(await world.ended(id)).toMatchObject({ state: "DONE", delivered: EVENTS, failed: 0, refused: 0 });
  expect(before).toBeLessThan(EVENTS);
  expect(world.sink.effects()).toHaveLength(EVENTS);
  expect(await harm(world)).toEqual(NO_HARM);
});

test("what fails alone while its neighbours are delivered has failed", { timeout: 120_000 }, async () => {
  await world.park(20, (index) => ({ eventId: index === 7 ? "poison" : `event-${index}` }));
  // It reads the request and dies, as a consumer does that an event crashes.
  world.sink.answer = ({ eventId }) => (eventId === "poison" ? "cut" : 200);
  await world.worker();
  const { id } = await world.request();
  await expect
    .poll(async () => (await world.redrive(id)).state, { timeout: 90_000, interval: 200 })
    .toSatisfy((state: string) => state !== "RUNNING");
  expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: 19, failed: 1 });
  expect((await world.event("poison")).cooldown_until).not.toBeNull();
});

describeWith(kafkaMissing, "kafka", () => {
  test("a broker that is killed for 17 s: 400 of 400 delivered, none failed or cooled, not paused", {
    timeout: 240_000,
  }, async () => {
    const kafka = await testKafka();
    const topic = "orders";
    await makeTopic(kafka, topic, { partitions: 3 });
    await world.db.run("update sources set kind = 'kafka', config = $1::jsonb", [
      JSON.stringify({ bootstrap: [kafka.bootstrap], topics: ["orders.dlt"] }),
    ]);
    try {
      await world.park(EVENTS, (index) => ({ ...orders(index), origin: { topic } }));
      await world.worker();
      const { id } = await world.request();
      const target = { away: () => kafka.kill("SIGKILL"), back: () => kafka.start() };
      await outage(world, id, { target, awayMs: AWAY_MS, says: /^Waits for orders, not reached/ });
    } finally {
      await kafka.stop();
    }
  });
});
