import { expect, test } from "vitest";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const payload = (value: unknown): Partial<DeadLetter> => ({ payload: Buffer.from(JSON.stringify(value)) });
const PATTERN = { properties: { a: { pattern: "^(a+)+$" } } };
const STUCK = { a: `${"a".repeat(60)}!` };

test.each([
  ["in this process", () => world.worker()],
  ["in a process of its own, from source", () => world.doomedWorker()],
])(
  "a schema that never decides on one payload refuses it by name; its neighbours are delivered (worker %s)",
  async (_, start) => {
    await world.source("hostile", { schema: PATTERN });
    await world.source("honest", { schema: { type: "object", required: ["b"] } });
    await world.park(20, (index) => payload(index === 7 ? STUCK : { a: "aaa" }), "hostile");
    await world.park(20, () => payload({ b: 1 }), "honest");
    await start();
    const hostile = await world.request({ select: { filter: { source: ["hostile"] } } });
    const honest = await world.request({ select: { filter: { source: ["honest"] } } });

    expect(await world.ended(honest.id)).toMatchObject({ state: "DONE", delivered: 20 });
    expect(await world.ended(hostile.id)).toMatchObject({
      state: "DONE",
      delivered: 19,
      refusedByReason: { "schema-timeout": 1 },
    });
  },
);

test("an asynchronous schema that is already stored refuses its events and leaves the worker alive", async () => {
  await world.source("hostile", { schema: { $async: true, type: "object", required: ["zzz"] } });
  await world.park(5, () => payload({}), "hostile");
  await world.park(5, () => payload({}));
  await world.worker();
  const hostile = await world.request({ select: { filter: { source: ["hostile"] } } });
  expect(await world.ended(hostile.id)).toMatchObject({ delivered: 0, refusedByReason: { "schema-mismatch": 5 } });
  const others = await world.request({ select: { filter: { source: ["orders"] } } });
  expect(await world.ended(others.id)).toMatchObject({ delivered: 5 });
});

test("a schema that was edited and keeps its $id is the one that counts, beside another source with the same", async () => {
  const $id = "https://acme.example/order";
  await world.source("first", { schema: { $id, required: ["a"] } });
  await world.source("second", { schema: { $id, required: ["b"] } });
  await world.park(3, () => payload({ a: 1 }), "first");
  await world.park(3, (index) => ({ ...payload({ b: 1 }), eventId: `second-${index}` }), "second");
  await world.worker();
  const done = await world.ended((await world.request()).id);
  expect(done).toMatchObject({ delivered: 6 });
});
