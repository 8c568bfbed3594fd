import { workBulkOperation } from "@/lib/events/bulk/work-bulk-operation";
import { systemClock } from "@/lib/platform/clock";
import { createDb } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { createPayloadChecker } from "@/lib/repair/schemas/check-payload";
import { createSchemaCheck } from "@/lib/repair/schemas/schema-check";

export type Sample = { rssBytes: number; liveBytes: number };

/** A process that carries out one bulk operation, to be killed half-way, and says what it held. Needs `--expose-gc`. */
const [url, id] = process.argv.slice(2) as [string, string];
const db = createDb(url, { max: 4, applicationName: "bench-mend-worker" });
const schemas = createSchemaCheck(systemClock);
const deps = {
  db,
  // Nothing is rung by an operation that runs.
  lane: null as never,
  clock: systemClock,
  log: createLog({ process: "bench", level: "silent" }),
  archive: null,
  checkPayloads: createPayloadChecker(schemas, systemClock),
};
await db.query("select 1");
const samples: Sample[] = [];
const take = () => {
  const rssBytes = process.memoryUsage.rss();
  // The second one ends what the first one left to another thread.
  for (let times = 0; times < 2; times++) globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  samples.push({ rssBytes, liveBytes: heapUsed + arrayBuffers });
};
// Each takes some 30 ms of the time that is measured; with fewer the least is seldom seen.
const watch = setInterval(take, 300);
await workBulkOperation(deps, id, new AbortController().signal);
clearInterval(watch);
take();
/** The least that lives: a chunk is in memory at other times. */
const between = (from: number, to: number): Sample => {
  const of = samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to));
  return {
    rssBytes: Math.max(...of.map(({ rssBytes }) => rssBytes)),
    liveBytes: Math.min(...of.map(({ liveBytes }) => liveBytes)),
  };
};
// In the first tenth code is loaded.
process.send!([between(0.1, 0.4), between(0.7, 1)] satisfies Sample[]);
await schemas.close();
await db.end();
