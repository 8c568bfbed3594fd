import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { systemClock } from "@/lib/platform/clock";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
afterAll(() => rmSync(folder, { recursive: true }));

const world = worldOfEachTest({ env: { PARKADE_ARCHIVE: `file://${folder}` } });
const ADA = localViewer("ada");
const EVENTS = 8_000;
const KILLS = 2;

/** How often each event is in the store or in the archive: 1 for all of them. */
async function copies(): Promise<{ copies: number; events: number }[]> {
  return world.db.query(
    `select copies::int, count(*)::int as events from (
       select k.event_id, (select count(*) from dlq_events e where e.event_id = k.event_id)
                        + (select count(*) from archived_events a where a.event_id = k.event_id) as copies
         from named k) c group by 1`,
  );
}

const rows = () =>
  world.db.query(
    `select e::text as event, f::text as facts, b::text as body
       from dlq_events e join dlq_event_facts f on f.id = e.id join dlq_event_bodies b on b.id = e.id order by e.id`,
  );

test("each event is in the store or in the archive, however often workers are killed, and all come back", async () => {
  await world.park(EVENTS, (index) => ({ aggregateId: `order-${index % 2_000}`, version: BigInt(index) }));
  await world.db.run("create table named as select event_id from dlq_events");
  // Half of them, so that some stay in each chunk.
  await world.db.run(
    `with moved as (
       update dlq_events set status = 'IGNORED' where right(event_id, 1)::int % 2 = 0
       returning source_id, error_code, fingerprint, first_seen)
     , levels as (
       insert into dlq_levels (source_id, error_code, status, hour, n)
       select source_id, error_code, s, date_trunc('hour', first_seen, 'UTC'), sum(n)
         from moved cross join (values ('PENDING', -1), ('IGNORED', 1)) v(s, n) group by 1, 2, 3, 4)
     , groups as (
       insert into dlq_group_levels (fingerprint, source_id, status, n)
       select fingerprint, source_id, s, sum(n) from moved cross join (values ('PENDING', -1), ('IGNORED', 1)) v(s, n)
        group by 1, 2, 3)
     insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', now(), 'UTC'), source_id, error_code, fingerprint, 'ignored', count(*)
       from moved group by 2, 3, 4`,
  );
  const before = await rows();
  const archive = openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock });
  const request = { select: { filter: {} }, reason: "the disk is full" };
  const { id } = await removeEvents({ ...world.deps, archive }, request, ADA);
  const operation = () => readBulkOperation(world.db, ADA, id!);
  for (let kill = 0; kill < KILLS; kill++) {
    const { changed: had, state } = await operation();
    if (state !== "RUNNING") break;
    const worker = await world.doomedWorker();
    await expect.poll(async () => (await operation()).changed > had, { timeout: 20_000, interval: 5 }).toBe(true);
    worker.kill("SIGKILL");
    await once(worker, "exit");
    expect(await copies()).toEqual([{ copies: 1, events: EVENTS }]);
  }
  await world.worker();
  await expect.poll(async () => (await operation()).state, { timeout: 30_000, interval: 50 }).toBe("DONE");
  const { changed, refusedByReason } = await operation();
  expect(changed + Object.values(refusedByReason).reduce((sum, n) => sum + n, 0)).toBe(EVENTS);
  expect(await copies()).toEqual([{ copies: 1, events: EVENTS }]);
  let after: string | null = null;
  let restored = 0;
  do {
    const asked = { operation: id!, ...(after === null ? {} : { after }) };
    const answer = await restoreArchived({ ...world.deps, archive }, asked, ADA);
    expect(answer).toMatchObject({ duplicates: 0, refused: [] });
    restored += answer.restored;
    after = answer.next;
  } while (after !== null);
  expect(restored).toBe(changed);
  expect(await rows()).toEqual(before);
}, 120_000);
