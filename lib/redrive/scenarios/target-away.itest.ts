import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { describeWith } from "@/lib/testing/describe-with";
import { kafkaMissing, makeTopic, testKafka } from "@/lib/testing/kafka";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** An outage of a target costs no event anything: it holds the redrive, which goes on by itself. */

/** Longer than any hold of before, and what a broker's restart takes. */
const AWAY_MS = 17_000;
const EVENTS = 400;

const world = worldOfEachTest({ ratePerSecond: 100 });

const harm = async () => {
  const [row] = await world.db.query(
    `select count(*) filter (where cooldown_until is not null) as cooled, count(*) filter (where failures > 0) as failed,
            (select count(*) from aggregates where consecutive_failures > 0 or blacklist_id is not null) as aggregates
       from dlq_events`,
  );
  return row;
};
const delivered = async (id: string) => (await world.redrive(id)).delivered;
const NO_HARM = { cooled: 0, failed: 0, aggregates: 0 };
/** Events of 40 aggregates, in the order of their versions. */
const orders = (index: number) => ({ aggregateId: `order-${index % 40}`, version: BigInt(1 + Math.floor(index / 40)) });

/** The redrive is in the middle of its work when the target goes, and ends without a person after it is back. */
async function outage(id: string, target: { away(): Promise<void>; back(): Promise<void> }, says: RegExp) {
  await expect.poll(() => delivered(id)).toBeGreaterThan(40);
  await target.away();
  const gone = Date.now();
  await expect.poll(async () => (await world.redrive(id)).stalled?.text, { timeout: 12_000 }).toMatch(says);
  expect((await world.redrive(id)).stalled).toMatchObject({ code: "target-away", target: "orders" });
  await sleep(AWAY_MS - (Date.now() - gone));
  expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", failed: 0, refused: 0, pauseReason: null });
  await target.back();
  await expect
    .poll(async () => (await world.redrive(id)).state, { timeout: 90_000, interval: 200 })
    .toSatisfy((state: string) => state !== "RUNNING");
  expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: EVENTS, failed: 0, refused: 0 });
  expect(await harm()).toEqual(NO_HARM);
}

test("an HTTP port that is closed for 17 s: 400 of 400 delivered, none failed or cooled, not paused", {
  timeout: 180_000,
}, async () => {
  await world.park(EVENTS, orders);
  await world.worker();
  await world.worker();
  const { id } = await world.request();
  await outage(id, world.sink, /^Waits for orders, not reached for .* \(ECONNREFUSED\)\. It goes on by itself/);
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
  expect(await harm()).toEqual(NO_HARM);
});

test("an outage that does not end is ended by a person, and the page says so", {
  timeout: 120_000,
}, async () => {
  await world.sink.away();
  await world.park(1, () => ({ eventId: "lonely" }));
  await world.worker();
  const first = await world.request();
  await expect.poll(async () => (await world.redrive(first.id)).stalled?.code, { timeout: 20_000 }).toBe("target-away");
  await changeRedrive(world.deps, { id: first.id, change: { action: "cancel" } }, localViewer("ada"));
  expect(await world.ended(first.id)).toMatchObject({ cancelled: 1, failed: 0, refused: 0 });
  expect(await harm()).toEqual(NO_HARM);
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
      await outage(
        id,
        { away: () => kafka.kill("SIGKILL"), back: () => kafka.start() },
        /^Waits for orders, not reached/,
      );
    } finally {
      await kafka.stop();
    }
  });
});
