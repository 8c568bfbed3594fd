import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { exportRecords } from "@/lib/keep/records/export-records";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { systemClock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { benchDeps } from "./deps";
import { mb, timed } from "./figures";
import { parkMany } from "./park-many";
import { startBenchStack } from "./stack";

/**
 * How fast settled events of about 1 kB go into an archive in a folder and come back, and how fast they are exported; and what
 * the removal costs beside deleting the same rows by SQL, which archives nothing.
 *
 * BENCH_EVENTS (50,000) makes a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 50_000);
const REMOVED_AIM = 20_000;
const RESTORED_AIM = 10_000;
const ADA = localViewer("ada");

export type ArchiveResult = {
  events: number;
  exportedPerSecond: number;
  removedPerSecond: number;
  deletedPerSecond: number;
  restoredPerSecond: number;
  grownBytes: number;
};

export async function run(): Promise<ArchiveResult> {
  const stack = await startBenchStack();
  const deps = benchDeps(stack.databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), "parkade-bench-archive-"));
  const archive = openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock });
  try {
    for (const source of ["kept", "deleted"]) await fill(deps.db, source);
    const perSecond = (ms: number) => (EVENTS / ms) * 1000;
    const exported = perSecond(await timed(() => exportAll(deps.db)));
    const idle = rss();
    let most = idle;
    const watch = setInterval(() => {
      most = Math.max(most, rss());
    }, 100);
    const select = { filter: { source: ["kept"] } };
    const { id } = await removeEvents({ ...deps, archive }, { select, reason: "bench" }, ADA);
    const work = () => workBulkOperation({ ...deps, archive }, id!, new AbortController().signal);
    const removed = perSecond(await timed(work));
    const deleted = perSecond(await timed(() => deleteBySql(deps.db)));
    const restored = perSecond(await timed(() => restoreAll({ ...deps, archive }, id!)));
    clearInterval(watch);
    const [row] = await deps.db.query<{ n: number }>(
      "select count(*)::int as n from dlq_events e join sources s on s.id = e.source_id where s.name = 'kept'",
    );
    if (row!.n !== EVENTS) throw new Error(`${row!.n} of ${EVENTS} events came back`);
    console.log(`archive exported ${Math.round(exported)}/s`);
    console.log(
      `archive removed ${Math.round(removed)}/s (aim >= ${REMOVED_AIM}), ${(removed / deleted).toFixed(3)} of deleting by SQL (${Math.round(deleted)}/s); RSS +${mb(most - idle)}`,
    );
    console.log(`archive restored ${Math.round(restored)}/s (aim >= ${RESTORED_AIM})`);
    return {
      events: EVENTS,
      exportedPerSecond: exported,
      removedPerSecond: removed,
      deletedPerSecond: deleted,
      restoredPerSecond: restored,
      grownBytes: most - idle,
    };
  } finally {
    await archive.close();
    await deps.close();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const rss = () => process.memoryUsage().rss;

async function fill(db: Db, source: string): Promise<void> {
  await parkMany(db, { source, events: EVENTS, redriveUrl: "http://127.0.0.1:9/sink" });
  const ofSource = "source_id = (select id from sources where name = $1)";
  await db.run(
    "update dlq_event_bodies b set payload = payload || convert_to(repeat('y', 600), 'UTF8') from dlq_events e where e.id = b.id",
  );
  await db.run(`update dlq_events set status = 'IGNORED' where ${ofSource}`, [source]);
  for (const table of ["dlq_levels", "dlq_group_levels"])
    await db.run(`update ${table} set status = 'IGNORED' where ${ofSource}`, [source]);
  await db.run("vacuum analyze");
}

async function exportAll(db: Db): Promise<void> {
  let lines = 0;
  for await (const piece of await exportRecords(
    { db, lists: db, clock: systemClock, log: createLog({ level: "silent", process: "bench" }) },
    ADA,
    { filter: { source: ["kept"] }, reason: "measured" },
    Date.now(),
  ))
    lines += piece.length;
  if (lines !== EVENTS) throw new Error(`${lines} of ${EVENTS} events were exported`);
}

/** The same rows, in chunks of the same size, and nothing else. */
async function deleteBySql(db: Db): Promise<void> {
  const ids = await db.query<{ id: string }>(
    "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = 'deleted' order by e.id desc",
  );
  for (let from = 0; from < ids.length; from += 2_000) {
    const chunk = ids.slice(from, from + 2_000).map(({ id }) => id);
    await db.run(
      `with events as (delete from dlq_events where id = any($1::uuid[]) returning event_id, source_id),
            keys as (delete from event_keys k using events e where k.event_id = e.event_id and k.source_id = e.source_id),
            facts as (delete from dlq_event_facts where id = any($1::uuid[]))
       delete from dlq_event_bodies where id = any($1::uuid[])`,
      [chunk],
    );
  }
}

async function restoreAll(deps: Parameters<typeof restoreArchived>[0], operation: string): Promise<void> {
  let restored = 0;
  let after: string | undefined;
  do {
    const answer = await restoreArchived(deps, { operation, ...(after ? { after } : {}) }, ADA);
    restored += answer.restored;
    after = answer.next ?? undefined;
  } while (after !== undefined);
  if (restored !== EVENTS) throw new Error(`${restored} of ${EVENTS} events were restored`);
}
