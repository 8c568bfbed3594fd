import { expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { loseSlices } from "@/lib/testing/slice-items";
import { heldQueue, steppedWorker } from "@/lib/testing/stepped-worker";

const world = worldOfEachTest();

/** More statements than a page takes. */
const MANY = 200;

test("a worker that was given up while it worked a page reads no further one, and its job comes again", async () => {
  await world.park(3);
  const { id } = await world.request({ mode: "verify" });
  const ended: unknown[] = [];
  const worker = steppedWorker({
    ...{ number: 1, databaseUrl: world.url, queue: heldQueue(), wallMs: () => Date.now() },
    onSend: () => {},
    onEnd: (_queue, _job, outcome) => ended.push(outcome),
  });
  try {
    worker.begin("main", { kind: "slice", redriveId: id, slice: 0 });
    const owned = "select 1 from slice_owners where owner is not null";
    for (let passed = 0; passed < MANY && ended.length === 0; passed++) {
      await expect.poll(() => worker.waiting() + ended.length, { interval: 5 }).toBeGreaterThan(0);
      worker.pass();
      await expect.poll(() => worker.busy(), { interval: 5 }).toBe(false);
      if ((await world.db.query(owned)).length > 0) await loseSlices(world.db);
    }
    expect(ended).toEqual([{ kind: "again", delayMs: 0 }]);
    expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", passed: 0, open: 3 });
  } finally {
    await worker.close();
  }
});
