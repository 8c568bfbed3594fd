import { expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events.write";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

/** As an operation would whose look at the status is no longer true. */
const ignore = (ids: string[]) => {
  const events = ids.map((id) => ({ id, attempts: 0, lost: false }));
  return world.db.transaction((tx) => ignoreEvents(tx, events, "ada"));
};
const release = (ids: string[]) => world.db.transaction((tx) => releaseEvents(tx, ids, { actor: "ada" }));

test("an event with an open item is not ignored behind its redrive's back (I2)", async () => {
  await world.park(2);
  const [queued, free] = (await world.idsOf()) as [string, string];
  await world.request({ select: { ids: [queued] } });
  expect(await ignore([queued, free])).toEqual([{ id: free, from: "PENDING" }]);
  expect(await world.statuses()).toEqual({ QUEUED: 1, IGNORED: 1 });
});

test("only what is ignored is released (I2)", async () => {
  await world.park(3);
  const [queued, ignored, pending] = (await world.idsOf()) as [string, string, string];
  await world.request({ select: { ids: [queued] } });
  await ignore([ignored]);
  expect(await release([queued, ignored, pending])).toEqual([ignored]);
  expect(await release([queued, ignored, pending])).toEqual([]);
  expect(await world.statuses()).toEqual({ QUEUED: 1, PENDING: 2 });
});
