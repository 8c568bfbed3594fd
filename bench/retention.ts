import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setDeps } from "@/app/_server/deps";
import * as events from "@/app/(events)/api/v1/events/route";
import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { dropEmptyDays } from "@/lib/intake/partitions.write";
import { parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { runRetention } from "@/lib/keep/retention/expire-events";
import { systemClock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { deadLetter } from "@/lib/testing/letters";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { benchDeps } from "./deps";
import { mb, percentile, timed } from "./figures";
import { parkMany } from "./park-many";
import { startBenchStack } from "./stack";

/**
 * What it costs that a day of events of about 1 kB expires: archived, compared and deleted by the operation; lists and ingest
 * meanwhile beside the same ones in quiet; then the drop of its tables, beside deleting a day of the same size by SQL.
 *
 * BENCH_EVENTS (50,000) makes a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 50_000);
const DAY_MS = 86_400_000;
const [EXPIRES, DELETED] = [33, 35];
const EXPIRED_AIM = 20_000;
const DROP_AIM = 25;
const MEANWHILE_AIM = 2;
const QUIET_MS = 5_000;
/** Of an ingest. */
const BATCH = 100;
const ADA = localViewer("ada");
const CONTEXT = { params: Promise.resolve({}) };

export async function run() {
  const stack = await startBenchStack();
  const deps = benchDeps(stack.databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), "parkade-bench-retention-"));
  const archive = openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock });
  const all = { ...deps, archive, upkeepDb: deps.db };
  setDeps(all);
  try {
    const sink = "http://127.0.0.1:9/sink";
    await parkMany(deps.db, { source: "young", events: EVENTS, redriveUrl: sink });
    await parkMany(deps.db, { source: "old", events: EVENTS, redriveUrl: sink, daysAgo: EXPIRES });
    await parkMany(deps.db, { source: "deleted", events: EVENTS, redriveUrl: sink, daysAgo: DELETED });
    await deps.db.run("update dlq_event_bodies b set payload = payload || convert_to(repeat('y', 600), 'UTF8')");
    const deletedMs = await timed(() => deleteDay(deps.db));
    await deps.db.run("vacuum analyze");
    const quiet = await using(deps, () => systemClock.sleep(QUIET_MS));
    const idle = process.memoryUsage().rss;
    let most = idle;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 100);
    let expiredMs = 0;
    const meanwhile = await using(deps, async () => {
      await runRetention(all);
      const [operation] = await deps.db.query<{ id: string }>("select id from bulk_operations where kind = 'expire'");
      expiredMs = await timed(() => workBulkOperation(all, operation!.id, new AbortController().signal));
    });
    clearInterval(watch);
    const left = await deps.db.query("select 1 from dlq_events where id < $1 limit 1", [
      uuidv7LowerBound(Date.now() - (EXPIRES - 1) * DAY_MS),
    ]);
    if (left.length > 0) throw new Error("events of the day are still stored");
    const before = Math.floor(Date.now() / DAY_MS) * DAY_MS - (EXPIRES - 1) * DAY_MS;
    // The drop vacuums as well: here it has nothing to do, so that the two are measured apart.
    const vacuumMs = await timed(() => deps.db.run("vacuum dlq_events, dlq_event_facts, dlq_event_bodies"));
    let tables = 0;
    const dropMs = await timed(async () => {
      tables = await dropEmptyDays(deps.db, before);
    });
    const perTable = dropMs / tables;
    const lists = meanwhile.listMs / quiet.listMs;
    const ingest = meanwhile.ingestMs / quiet.ingestMs;
    const expired = (EVENTS / expiredMs) * 1000;
    console.log(`retention expired ${Math.round(expired)}/s (aim >= ${EXPIRED_AIM}); RSS +${mb(most - idle)}`);
    console.log(
      `retention meanwhile a list took ${lists.toFixed(2)} and an ingest ${ingest.toFixed(2)} of quiet (aim <= ${MEANWHILE_AIM})`,
    );
    console.log(
      `retention dropped a day in ${(perTable * 5).toFixed(0)} ms, behind ${vacuumMs.toFixed(0)} ms of vacuum; deleting one by SQL took ${deletedMs.toFixed(0)} ms: ${(deletedMs / (perTable * 5)).toFixed(1)} x (aim >= ${DROP_AIM})`,
    );
    return {
      events: EVENTS,
      expiredPerSecond: expired,
      lists,
      ingest,
      dropDayMs: perTable * 5,
      vacuumMs,
      deletedMs,
      tables,
    };
  } finally {
    await archive.close();
    await deps.close();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Medians, in milliseconds, of lists of the newest events and of batches of ingest, one after the other while the work runs. */
async function using(deps: Parameters<typeof parkEvents>[0], work: () => Promise<unknown>) {
  const [lists, ingests]: number[][] = [[], []];
  let ended = false;
  const working = work().finally(() => {
    ended = true;
  });
  while (!ended) {
    const request = new Request("http://localhost/api/v1/events?limit=50", { headers: LOCAL_CALLER });
    lists!.push(await timed(async () => (await events.GET(request, CONTEXT)).text()));
    const batch = Array.from({ length: BATCH }, () => ({
      source: "young",
      letter: deadLetter({ eventId: crypto.randomUUID(), aggregateId: null, version: null }),
    }));
    ingests!.push(await timed(() => parkEvents(deps, batch, ADA)));
  }
  await working;
  return { listMs: percentile(lists!, 0.5), ingestMs: percentile(ingests!, 0.5) };
}

/** The same rows, in chunks of the size of an operation's, and nothing else. */
async function deleteDay(db: Db): Promise<void> {
  const ids = await db.query<{ id: string }>(
    "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = 'deleted' order by e.id desc",
  );
  for (let from = 0; from < ids.length; from += 2_000) {
    const chunk = ids.slice(from, from + 2_000).map(({ id }) => id);
    await db.run(
      `with events as (delete from dlq_events where id = any($1::uuid[])),
            facts as (delete from dlq_event_facts where id = any($1::uuid[]))
       delete from dlq_event_bodies where id = any($1::uuid[])`,
      [chunk],
    );
  }
}
