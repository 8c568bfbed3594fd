import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest({ invariants: false });

test("an event whose key outlived it is parked again, and is a duplicate from then on (I1)", async () => {
  const arrive = () => parkEvents(world.deps, [{ source: "orders", letter: deadLetter() }], localViewer("tester"));
  expect(await arrive()).toEqual(["parked"]);
  // As retention leaves it: the day's partition is dropped, the key of deduplication stays.
  await world.db.run("delete from dlq_event_bodies");
  await world.db.run("delete from dlq_events");
  expect(await arrive()).toEqual(["parked"]);
  expect(await world.event("event-1")).toMatchObject({ status: "PENDING", bounces: 0 });
  expect(await arrive()).toEqual(["duplicate"]);
});
