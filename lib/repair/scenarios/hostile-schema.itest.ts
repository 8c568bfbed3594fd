import { expect, test } from "vitest";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const payload = (value: unknown): Partial<DeadLetter> => ({ payload: Buffer.from(JSON.stringify(value)) });
const PATTERN = { properties: { a: { pattern: "^(a+)+$" } } };
const STUCK = { a: `${"a".repeat(60)}!` };

test("a schema that never decides on one payload refuses it by name; its neighbours are delivered, by a worker from source too", async () => {
  await world.source("hostile", { schema: PATTERN });
  await world.source("honest", { schema: { type: "object", required: ["b"] } });
  await world.park(20, (index) => payload(index === 7 ? STUCK : { a: "aaa" }), "hostile");
  await world.park(20, () => payload({ b: 1 }), "honest");
  await world.doomedWorker();
  const hostile = await world.request({ select: { filter: { source: ["hostile"] } } });
  const honest = await world.request({ select: { filter: { source: ["honest"] } } });
  expect(await world.ended(honest.id)).toMatchObject({ state: "DONE", delivered: 20 });
  const refusedByReason = { "schema-timeout": 1 };
  expect(await world.ended(hostile.id)).toMatchObject({ state: "DONE", delivered: 19, refusedByReason });
});
