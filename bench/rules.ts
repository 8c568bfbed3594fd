import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { createLaneQueue } from "@/lib/lane/queue";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { createLog } from "@/lib/platform/log";
import { type RedriveRuleBody, readRedriveRuleBody } from "@/lib/rules/redrive-rules.shapes";
import { runRedriveRules } from "@/lib/rules/run-redrive-rules";
import { tryRedriveRule } from "@/lib/rules/try-redrive-rule";
import { fillStore } from "./event-store";
import { median, timed } from "./figures";
import { startBenchStack } from "./stack";

/**
 * The rounds of redrive rules over a store of parked events, of which none is due: what a round costs, how many rounds look
 * at every event once, and what a trial over all of them costs. The baseline is one count of the parked events, which reads them all.
 *
 * PARKADE_BENCH_EVENTS (1,000,000) makes a quick run.
 */

const EVENTS = Number(process.env.PARKADE_BENCH_EVENTS ?? 1_000_000);
/** A round must not grow with the store: so many times the count of it. */
const RATIO_AIM = 3;
const ROUNDS_MAX = 400;

const RULES = {
  "an error code, waiting for its group": { filter: { errorCode: ["TIMEOUT"] }, onlyIf: { groupSucceeded: true } },
  "a source, waiting for its group": { filter: { source: ["orders"] }, onlyIf: { groupSucceeded: true } },
  "an event type": { filter: { eventType: ["OrderPaid"] }, onlyIf: { groupSucceeded: true } },
  "a tag": { filter: { tags: { tenant: ["globex"] } }, onlyIf: { groupSucceeded: true } },
};

export async function run(): Promise<object[]> {
  const stack = await startBenchStack();
  const db = createDb(stack.databaseUrl, { max: 2, statementTimeoutMs: 4_000 });
  const filler = createDb(stack.databaseUrl, { max: 1, statementTimeoutMs: 0 });
  const lane = createLaneQueue({ kind: "postgres", connectionString: stack.databaseUrl, max: 1 }, systemClock);
  try {
    await fillStore(filler, { events: EVENTS, days: 30 });
    const deps = { db, lane, clock: systemClock, log: createLog({ process: "bench", level: "warn" }) };
    const countMs = await timed(() =>
      filler.query("select count(*) from dlq_events where status = 'PENDING' and error_code <> ''"),
    );
    const results = [];
    for (const [name, rule] of Object.entries(RULES)) {
      const body = bodyOf(rule);
      await store(filler, name, body);
      const tryMs = await timed(() => tryRedriveRule(deps, { rule: body, days: 30 }, localViewer("bench")));
      const rounds: number[] = [];
      do rounds.push(await timed(() => runRedriveRules(deps)));
      while ((await isUnderWay(filler)) && rounds.length < ROUNDS_MAX);
      const medianMs = median(rounds);
      const [row] = await filler.query<{ fault: string | null }>("select fault from redrive_rules");
      const result = {
        name,
        rounds: rounds.length,
        medianMs: Math.round(medianMs),
        maxMs: Math.round(Math.max(...rounds)),
        tryMs: Math.round(tryMs),
        ratioToCount: Number((medianMs / countMs).toFixed(2)),
        fault: row!.fault,
        met: medianMs / countMs <= RATIO_AIM && row!.fault === null,
      };
      console.log(
        `rules ${name}: ${result.rounds} rounds look at all, at most ${result.maxMs} ms each, median ${result.medianMs} ms` +
          `: ${result.ratioToCount} times a count over ${EVENTS} events (${Math.round(countMs)} ms; aim <= ${RATIO_AIM}); a trial ${result.tryMs} ms`,
      );
      results.push(result);
    }
    return results;
  } finally {
    await lane.close();
    await db.end();
    await filler.end();
    await stack.stop();
  }
}

function bodyOf(rule: object): RedriveRuleBody {
  const read = readRedriveRuleBody({ ...rule, delayMs: 60_000 });
  if ("faults" in read) throw new Error(JSON.stringify(read.faults));
  return read.body;
}

/** The only rule, on. */
async function store(db: Db, name: string, body: RedriveRuleBody): Promise<void> {
  await db.run("delete from redrive_rules");
  await db.run(
    `insert into redrive_rules (id, position, name, enabled, version, body, enabled_at, created_by, updated_by)
     values ($1, 1, $2, true, 1, $3::jsonb, now(), 'bench', 'bench')`,
    [uuidv7(Date.now()), name, JSON.stringify(body)],
  );
}

/** Whether the sweep has not come to its end. */
async function isUnderWay(db: Db): Promise<boolean> {
  return (await db.query("select 1 from redrive_rules where looked_to is not null")).length > 0;
}
