import { afterAll, beforeAll, expect, test } from "vitest";
import { listEvents } from "@/lib/events/list/event-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/** More parked events of one aggregate than are read before a limit of time holds. */
const STORM = 5_002;

let world: World;
beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.park(2, (index) => ({ eventId: `small-${index}`, aggregateId: "order-1", version: BigInt(index + 1) }));
  await world.park(STORM, (index) => ({
    eventId: `large-${index}`,
    aggregateId: "tenant",
    version: BigInt(index + 1),
  }));
  await world.park(1, () => ({ eventId: "small-2", aggregateId: "order-1", version: 3n }));
});
afterAll(() => world.close());

async function behind(): Promise<(string | null)[]> {
  const query = { filter: {}, limit: 3, cursor: null };
  const { items } = await listEvents(world.db, localViewer("ada"), query, Date.now());
  return items.map(({ eventId, heldBehind }) => `${eventId} behind ${heldBehind?.eventId ?? "nothing"}`);
}

test("an aggregate of many parked events is shown with its head, and its neighbours with theirs", async () => {
  expect(await behind()).toEqual([
    "small-2 behind small-0",
    `large-${STORM - 1} behind large-0`,
    `large-${STORM - 2} behind large-0`,
  ]);
});

test("a page is shown without what holds its events when that cannot be read in time", async () => {
  await world.db.transaction(async (tx) => {
    await tx.run("lock table processed_events in access exclusive mode");
    expect(await behind()).toEqual([
      "small-2 behind nothing",
      `large-${STORM - 1} behind nothing`,
      `large-${STORM - 2} behind nothing`,
    ]);
  });
});
