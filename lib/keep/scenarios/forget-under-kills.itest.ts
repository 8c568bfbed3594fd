import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { removeLeftovers } from "@/lib/keep/archive/leftovers.write";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { readForget } from "@/lib/keep/forget/forgets.read";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { systemClock } from "@/lib/platform/clock";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
afterAll(() => rmSync(folder, { recursive: true }));

const world = worldOfEachTest({ env: { PARKADE_ARCHIVE: `file://${folder}` } });
const ADA = localViewer("ada");
const EVENTS = 1_600;
const REMOVALS = 8;

test("every other event is where it was, however often workers are killed while they forget", async () => {
  await world.park(EVENTS, (index) => ({ tags: { customer: index % 2 === 0 ? "hers" : "another" } }));
  const archive = openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock });
  const deps = { ...world.deps, archive };
  await ignoreEvents(deps, { select: { filter: {} }, reason: "test orders" }, ADA);
  const ids = await world.idsOf();
  for (let removal = 0; removal < REMOVALS; removal++) {
    const select = { ids: ids.slice(removal * 100, (removal + 1) * 100) };
    const { id } = await removeEvents(deps, { select, reason: "the disk is full" }, ADA);
    await workBulkOperation(deps, id!, new AbortController().signal);
  }
  const key = { tag: { name: "customer", value: "hers" } };
  const { id } = await forgetData(world.deps, { key, reason: "request 311", idempotency: null }, ADA);
  const counts = async () => (await readForget(world.db, ADA, id)).counts;
  for (const place of ["events", "objectsRewritten"]) {
    const worker = await world.doomedWorker();
    await expect.poll(async () => (await counts())[place] ?? 0, { timeout: 60_000, interval: 5 }).toBeGreaterThan(0);
    worker.kill("SIGKILL");
    await once(worker, "exit");
  }
  await world.worker();
  await expect.poll(async () => (await readForget(world.db, ADA, id)).state, { timeout: 60_000 }).toBe("DONE");
  expect(await counts()).toMatchObject({ events: 400, archivedEvents: 400, objectsRewritten: REMOVALS });
  expect((await readForget(world.db, ADA, id)).refused).toEqual({});
  // What a killed worker has written and nothing names is removed when its time is over.
  await world.db.run("update archive_leftovers set remove_at = now()");
  await removeLeftovers(deps);
  expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith(".zst"))).toHaveLength(
    REMOVALS,
  );
  const archived = await world.db.query<{ id: string }>("select id from archived_events order by id");
  expect(archived).toHaveLength(400);
  const answer = await restoreArchived(deps, { ids: archived.map((row) => row.id) }, ADA);
  expect(answer).toMatchObject({ restored: 400, duplicates: 0, refused: [] });
  expect(await world.idsOf()).toEqual(ids.filter((_, index) => index % 2 === 1));
}, 240_000);
