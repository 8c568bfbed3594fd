import { createExpressions } from "@/lib/mending/expressions";
import { workBulkOperation } from "@/lib/operations/work-bulk-operation";
import { systemClock } from "@/lib/platform/clock";
import { createLog } from "@/lib/platform/log";
import { createPayloadChecker } from "@/lib/redriving/check-payload";
import { createSchemaCheck } from "@/lib/redriving/schema-check";
import { createDb } from "@/lib/store/db";

/** A process that carries out one bulk operation, to be killed half-way, and says how much its memory grew. */
const [url, id] = process.argv.slice(2) as [string, string];
const db = createDb(url, { max: 4, applicationName: "bench-mend-worker" });
const schemas = createSchemaCheck(systemClock);
const expressions = createExpressions(systemClock);
const deps = {
  db,
  // Nothing is rung by an operation that runs.
  lane: null as never,
  clock: systemClock,
  log: createLog({ process: "bench", level: "silent" }),
  expressions,
  checkPayloads: createPayloadChecker(schemas, systemClock),
};
await db.query("select 1");
const samples: number[] = [];
const watch = setInterval(() => samples.push(process.memoryUsage.rss()), 20);
await workBulkOperation(deps, id, new AbortController().signal);
clearInterval(watch);
// In the first third the heap takes its size, and code is compiled: whoever keeps what it has read grows after it.
const early = Math.max(...samples.slice(0, Math.ceil(samples.length / 3)));
process.send!({ rssEarlyBytes: early, rssMaxBytes: Math.max(...samples) });
await schemas.close();
await expressions.close();
await db.end();
