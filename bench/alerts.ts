import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { type AlertRuleRequest, alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { addAlertRule } from "@/lib/observe/alerts/rules/change-alert-rule";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { createDb } from "@/lib/platform/database/db";
import { benchDeps } from "./deps";
import { CODES, fillStore, SOURCES } from "./event-store";
import { percentiles } from "./figures";
import { startBenchStack } from "./stack";

/**
 * One evaluation of 500 rules of every kind over a full store, by a worker's own functions. The baseline is the same
 * evaluation of one rule of each kind, in the same run: the facts are read once however many rules there are, so the ratio
 * says what a rule costs.
 *
 * BENCH_EVENTS (5,000,000), BENCH_RULES (500) and BENCH_ROUNDS (20) make a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 5_000_000);
const RULES = Number(process.env.BENCH_RULES ?? 500);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20);
const AIM_MS = 2_000;

export async function run() {
  const stack = await startBenchStack();
  const filler = createDb(stack.databaseUrl, { max: 1 });
  const deps = benchDeps(stack.databaseUrl);
  try {
    await fillStore(filler, { events: EVENTS, days: 30 });
    await foldRollups(filler);
    await filler.run("vacuum analyze");
    await filler.run("delete from alert_rules");
    const kinds = watches(0);
    for (const watch of kinds) await add(deps, `one ${watch.kind}`, watch);
    const few = await measure(deps);
    for (let index = kinds.length; index < RULES; index++) {
      const watch = watches(index)[index % kinds.length]!;
      await add(deps, `rule ${index}`, watch);
    }
    const many = await measure(deps);
    console.log(`alerts: ${EVENTS} events; ${kinds.length} rules ${few.text}; ${RULES} rules ${many.text}`);
    return {
      events: EVENTS,
      rules: RULES,
      few,
      many,
      ratio: many.p50Ms / few.p50Ms,
      withinBounds: many.p95Ms <= AIM_MS,
    };
  } finally {
    await deps.close();
    await filler.end();
    await stack.stop();
  }
}

type Deps = ReturnType<typeof benchDeps>;

async function add(deps: Deps, name: string, watch: object): Promise<void> {
  const request: AlertRuleRequest = alertRuleRequestSchema.parse({ name, watch });
  await addAlertRule({ ...deps, expires: false }, request, localViewer("bench"));
}

/** What a request says of what it watches. */
type AlertWatchInput = { kind: string; [field: string]: unknown };

/** A rule of each kind; `index` varies its numbers, its sources and its codes. */
function watches(index: number): AlertWatchInput[] {
  const source = SOURCES[index % SOURCES.length]!;
  const scope = index % 3 === 0 ? {} : { sources: [source] };
  const coded = index % 4 === 0 ? { errorCodes: [CODES[index % CODES.length]!] } : {};
  const windowMs = [900_000, 3_600_000, 86_400_000][index % 3]!;
  return [
    { kind: "size", above: 1_000 + index, ...scope, ...coded },
    { kind: "inflow", windowMs, factor: 3, atLeast: 50 + index, ...scope, ...coded },
    { kind: "silence", windowMs, usualAtLeast: 10 + index, ...scope, ...coded },
    { kind: "age", aboveMs: 86_400_000 + index, ...scope, ...coded },
    { kind: "new-group", atLeast: 5 + index, quietMs: 86_400_000, ...scope },
    { kind: "group-back", atLeast: 5 + index, quietMs: 604_800_000, ...scope },
    { kind: "success", windowMs, below: 0.8, atLeast: 20, ...scope },
    { kind: "breaker", ...scope },
    { kind: "healing", ...scope },
    { kind: "source", states: ["failing"], ...scope },
    { kind: "redrive-still", ...scope },
  ];
}

async function measure(deps: Deps) {
  const evaluate = () => evaluateAlerts({ ...deps, publicUrl: "http://127.0.0.1" }, 0);
  // The first one fires, and stores what fires.
  const { p50Ms, p95Ms, cpuMs } = await percentiles("evaluation", { warm: 2, times: ROUNDS }, evaluate);
  const [row] = await deps.db.query<{ n: number }>("select count(*)::int as n from alerts where state = 'firing'");
  const [p50, p95] = [p50Ms, p95Ms].map(Math.round);
  return { p50Ms, p95Ms, cpuMs, alerts: row!.n, text: `p50 ${p50} ms, p95 ${p95} ms, ${row!.n} alerts` };
}
