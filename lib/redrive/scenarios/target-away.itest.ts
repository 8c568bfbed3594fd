import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { PATIENT, worldOfEachTest } from "@/lib/testing/redrive-world";
import { harm, NO_HARM, orders, outage } from "./testing/outage";

const world = worldOfEachTest({ ratePerSecond: 200 });

test("an HTTP port that is closed: 200 of 200 delivered, none failed or cooled, not paused", {
  timeout: 180_000,
}, async () => {
  await world.policy({ ...PATIENT, breaker: { ...PATIENT.breaker, openMs: 1_000, openMsMax: 1_000 } });
  await world.park(200, orders);
  await world.worker();
  await world.worker();
  const { id } = await world.request();
  const says = /^Waits for orders, not reached for .* \(ECONNREFUSED\)\. It goes on by itself/;
  await outage(world, id, { target: world.sink, awayMs: 1_000, says });
  expect(world.sink.effects()).toHaveLength(200);
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
  expect(await harm(world)).toEqual(NO_HARM);
});
