import { afterAll, beforeAll, expect, test } from "vitest";
import type { Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createSlices } from "@/lib/redrive/run/slices";
import { manualClock } from "@/lib/testing/manual-clock";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { WORKER } from "@/lib/testing/slice-items";

let world: World;
beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.park(1);
});
afterAll(() => world.close());

/** A store of which the answer to the next commit is lost. `late`: the commit itself happens when it is called. */
function losing(db: Db) {
  let lose = false;
  let late = async () => {};
  const transaction: Db["transaction"] = async (work, options) => {
    if (!lose) return db.transaction(work, options);
    lose = false;
    late = async () => void (await db.transaction(work, options));
    throw new DomainError("store-unavailable", "The connection was lost");
  };
  return { db: { ...db, transaction }, loseNext: () => (lose = true), commit: () => late() };
}

test("slices whose taking was committed long after its answer was lost are given back by the worker that does not work them", async () => {
  const { id } = await world.request();
  const clock = manualClock();
  const store = losing(world.db);
  const log = createLog({ level: "silent", process: "test" });
  const slices = createSlices(
    { db: store.db, clock, log },
    { workerId: WORKER, stopping: new AbortController().signal },
  );
  const owner = async () => (await world.db.query("select owner from slice_owners where redrive_id = $1", [id]))[0];

  store.loseNext();
  await expect(slices.own({ redriveId: id, slices: [0, 0] }, async () => "worked")).rejects.toThrow("connection");
  expect(await slices.settle()).toBe(0);
  // The server is silent for most of a minute, and commits then.
  clock.advance(50_000);
  await store.commit();
  expect(await owner()).toEqual({ owner: WORKER });
  expect(await slices.settle()).toBe(1);
  expect(await owner()).toEqual({ owner: null });
  expect(await slices.own({ redriveId: id, slices: [0, 0] }, async () => "worked")).toBe("worked");
});
