import { once } from "node:events";
import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const ada = localViewer("ada");
const EVERYTHING = { target: null, reason: "stock answers with wrong data" };

const world = worldOfEachTest({ ratePerSecond: 60 });
const owned = () => world.db.query("select slice from slice_owners where owner is not null");
const sent = () => world.sink.arrived.length;
const keys = () => new Set(world.sink.arrived.map(({ key }) => key)).size;

// The queue gives the job of the dead worker to another one after half a minute.
test("a stop of sends outlives a worker that is killed with its slices", async () => {
  await world.park(90);
  const doomed = await world.doomedWorker();
  const { id } = await world.request();
  await expect.poll(sent, { interval: 5 }).toBeGreaterThan(10);
  const stopped = imposeStop(world.deps, EVERYTHING, ada);
  doomed.kill("SIGKILL");
  await Promise.all([once(doomed, "exit"), stopped]);
  const before = sent();
  await world.worker();
  // The takeover frees the slices of the dead worker, and keeps none for itself.
  await expect.poll(owned).toEqual([]);
  expect(sent()).toBe(before);
  await resumeSends(world.deps, EVERYTHING, ada);
  await world.ended(id);
  expect(keys()).toBe(90);
});

test("a stop of sends ends while no worker is alive, after the one that waited on it was killed: each event goes once", async () => {
  await world.park(90);
  const doomed = await world.doomedWorker();
  const { id } = await world.request();
  await expect.poll(sent, { interval: 5 }).toBeGreaterThan(10);
  expect((await imposeStop(world.deps, EVERYTHING, ada)).underWay).toBe(0);
  await expect.poll(owned).toEqual([]);
  const before = sent();
  doomed.kill("SIGKILL");
  await once(doomed, "exit");
  await resumeSends(world.deps, EVERYTHING, ada);
  await world.db.run("update worker_heartbeats set seen_at = now() - interval '1 hour'");
  expect((await world.redrive(id)).stalled?.code).toBe("no-worker");
  expect(sent()).toBe(before);
  await world.worker();
  await world.ended(id);
  expect([sent(), keys()]).toEqual([90, 90]);
});
