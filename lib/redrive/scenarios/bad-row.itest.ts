import { expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

test("an event whose end the store refuses is sent once, and so is each of its neighbours", async () => {
  await world.park(60, (index) => ({ attempts: index === 11 ? 2_147_483_647 : 2 }));
  await world.db.run(
    "alter table dlq_events add constraint refuses check (event_id <> 'event-0023' or status <> 'REDRIVEN')",
  );
  await world.worker();
  const done = await world.ended((await world.request()).id);

  expect(done).toMatchObject({ state: "DONE", delivered: 59, failedByReason: { "finish-rejected": 1 } });
  const sends = world.sink.arrived.map((entry) => entry.eventId);
  expect(sends).toHaveLength(60);
  expect(new Set(sends).size).toBe(60);
  expect(await world.statuses()).toEqual({ REDRIVEN: 59, PENDING: 1 });
  expect(await world.db.query("select 1 from redrive_attempts where state = 'open'")).toEqual([]);
});
