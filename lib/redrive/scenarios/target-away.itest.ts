import { expect, test } from "vitest";
import { orders, outage } from "@/lib/redrive/scenarios/testing/outage";
import { PATIENT, worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest({ ratePerSecond: 200 });

test("an HTTP port that is closed: 200 of 200 delivered, none failed or cooled, not paused", {
  timeout: 180_000,
}, async () => {
  await world.policy({ ...PATIENT, breaker: { ...PATIENT.breaker, openMs: 1_000, openMsMax: 1_000 } });
  await world.park(200, orders);
  await world.worker();
  await world.worker();
  const { id } = await world.request();
  const says = /^Waits for orders, not reached for .* \(ECONNREFUSED\)\. It continues when the target is back/;
  await outage(world, id, { target: world.sink, awayMs: 1_000, says });
  expect(world.sink.effects()).toHaveLength(200);
});
