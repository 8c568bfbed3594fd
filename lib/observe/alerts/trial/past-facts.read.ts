import { USUAL_DAYS } from "@/lib/events/groups/baseline.pure";
import { type Window, windowsBefore } from "@/lib/events/groups/windows-before.pure";
import type {
  AgeRow,
  AlertFacts,
  ArrivalRow,
  CountRow,
  FactName,
  OutcomeRow,
} from "@/lib/observe/alerts/facts/alert-facts.pure";
import { sourcesOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { readParkedHours } from "@/lib/observe/stats/stats.read";
import type { Queryable } from "@/lib/platform/database/db";
import { flowPieces } from "@/lib/selection/flow.read";
import { CODE_FLOW, DELTA_KINDS, FLOW_KINDS, SIZE_EFFECT_SQL } from "@/lib/states/flow-tables.sql";
import { PARKED } from "@/lib/states/state.sql";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A source of its own is tried by itself: so many, those with the most events. */
const SOURCES_MAX = 20;

/** How far back a rule is tried, and by which steps. */
type TrialSpan = { fromMs: number; toMs: number; stepMs: number };

/** The past of a week, for which minutes are kept. */
export function trialSpan(watch: AlertWatch, nowMs: number): TrialSpan {
  const stepMs = "windowMs" in watch ? watch.windowMs : HOUR_MS;
  const toMs = Math.floor(nowMs / stepMs) * stepMs;
  return { fromMs: toMs - 7 * DAY_MS, toMs, stepMs };
}

/** The facts as they were at each step; empty for a kind of whose past nothing is kept. */
export async function readPastFacts(db: Queryable, watch: AlertWatch, span: TrialSpan): Promise<AlertFacts[]> {
  return (await PAST[alertKindOf(watch.kind).facts]?.(db, watch as Windowed, span)) ?? [];
}

type Windowed = Coded & { windowMs: number };
const PAST: Partial<Record<FactName, (db: Queryable, watch: Windowed, span: TrialSpan) => Promise<AlertFacts[]>>> = {
  arrivals: pastArrivals,
  outcomes: pastOutcomes,
  levels: pastLevels,
  ages: pastAges,
};

type Coded = AlertWatch & { errorCodes?: readonly string[] | undefined };
type Series = {
  source: string;
  atMs: number;
  arrived: number;
  confirmed: number;
  bounced: number;
  failed: number;
  effect: number;
};

/** The flow of the rule's scope by source and step. The codes are summed: the rule counts no other. */
async function readSeries(db: Queryable, watch: Coded, { fromMs, toMs, stepMs }: TrialSpan): Promise<Series[]> {
  const values: unknown[] = [sourcesOf(watch), watch.errorCodes ?? null, stepMs];
  const between = (column: string, from: number, to: number) =>
    `${column} >= to_timestamp($${values.push(from)}::float8 / 1000) and ${column} < to_timestamp($${values.push(to)}::float8 / 1000)`;
  const scope = "($2::text[] is null or error_code = any($2))";
  const parts = flowPieces(CODE_FLOW, { fromMs, toMs, bucketMs: stepMs }).map(
    (piece) =>
      `select at, source_id, ${FLOW_KINDS.join(", ")} from ${piece.table} where ${between("at", piece.fromMs, piece.toMs)} and ${scope}`,
  );
  parts.push(
    `select minute, source_id, ${DELTA_KINDS} from dlq_flow where ${between("minute", fromMs, toMs)} and ${scope}`,
  );
  const text = `select s.name as source, date_bin(make_interval(secs => $3::float8 / 1000), f.at, 'epoch') as "atMs",
            sum(f.parked + f.bounced + f.unstored)::bigint as arrived, sum(f.confirmed - f.unconfirmed)::bigint as confirmed,
            sum(f.bounced)::bigint as bounced, sum(f.failed)::bigint as failed, sum(${SIZE_EFFECT_SQL})::bigint as effect
      from (${parts.join("\n union all ")}) f join sources s on s.id = f.source_id
     where $1::text[] is null or s.name = any($1) group by 1, 2`;
  return db.query<Series>(text, values, { name: "alert-series" });
}

function stepsOf({ fromMs, toMs, stepMs }: TrialSpan): number[] {
  return Array.from({ length: Math.round((toMs - fromMs) / stepMs) }, (_, index) => fromMs + index * stepMs);
}

/** Rows of a series by source and the start of their step. */
function bySource(rows: readonly Series[]): Map<string, Map<number, Series>> {
  return new Map(
    [...Map.groupBy(rows, ({ source }) => source)].map(([source, its]) => [
      source,
      new Map(its.map((row) => [row.atMs, row])),
    ]),
  );
}

/** The code of a rule's rows: its only one where it names one, any text otherwise. */
const codeOf = (watch: Coded) => watch.errorCodes?.[0] ?? "";

async function pastArrivals(db: Queryable, watch: Windowed, span: TrialSpan): Promise<AlertFacts[]> {
  const sources = bySource(await readSeries(db, watch, span));
  // What was usual then is counted by full hours, also those of the days before the trial.
  const longestMs = USUAL_DAYS * Math.max(DAY_MS, span.stepMs) + 2 * DAY_MS;
  const floorHour = (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS;
  const hourly = { fromMs: floorHour(span.fromMs - longestMs), toMs: floorHour(span.toMs), stepMs: HOUR_MS };
  const hours = bySource(await readSeries(db, watch, hourly));
  const [since] = await db.query<{ ms: number | null }>(
    "select least((select min(at) from dlq_flow_hours), (select min(minute) from dlq_flow)) as ms",
  );
  const names = new Set([...sources.keys(), ...hours.keys()]);
  return stepsOf(span).map((startMs) => {
    const endMs = startMs + span.stepMs;
    const { windows, scale } = windowsBefore({ fromMs: startMs, toMs: endMs }, since?.ms ?? null);
    const usualIn = (source: string, { fromMs, toMs }: Window) => {
      let sum = 0;
      for (let at = fromMs; at < toMs; at += HOUR_MS) sum += hours.get(source)?.get(at)?.arrived ?? 0;
      return sum * scale;
    };
    const arrivals = [...names].map(
      (source): ArrivalRow => ({
        source,
        errorCode: codeOf(watch),
        count: sources.get(source)?.get(startMs)?.arrived ?? 0,
        days: windows.map((window) => usualIn(source, window)),
      }),
    );
    return { nowMs: endMs, arrivals: { rows: new Map([[watch.windowMs, arrivals]]) } };
  });
}

async function pastOutcomes(db: Queryable, watch: Windowed, span: TrialSpan): Promise<AlertFacts[]> {
  const sources = bySource(await readSeries(db, watch, span));
  return stepsOf(span).map((startMs) => {
    const outcomes = [...sources].flatMap(([source, steps]): OutcomeRow[] => {
      const row = steps.get(startMs);
      return row
        ? [{ source, errorCode: codeOf(watch), confirmed: row.confirmed, bounced: row.bounced, failed: row.failed }]
        : [];
    });
    return { nowMs: startMs + span.stepMs, outcomes: { rows: new Map([[watch.windowMs, outcomes]]) } };
  });
}

/** From now backwards: each step takes back what changed in it. */
async function pastLevels(db: Queryable, watch: Coded, span: TrialSpan): Promise<AlertFacts[]> {
  const sources = bySource(await readSeries(db, watch, { ...span, toMs: span.toMs + span.stepMs }));
  const now = await db.query<{ source: string; n: number }>(
    `select s.name as source, sum(l.n)::bigint as n from dlq_level_sums l join sources s on s.id = l.source_id
      where l.status in ${PARKED} and ($1::text[] is null or s.name = any($1)) and ($2::text[] is null or l.error_code = any($2))
      group by 1`,
    [sourcesOf(watch), watch.errorCodes ?? null],
    { name: "alert-levels-of-scope" },
  );
  const level = new Map(now.map(({ source, n }) => [source, n]));
  const facts: AlertFacts[] = [];
  for (const startMs of [...stepsOf({ ...span, toMs: span.toMs + span.stepMs })].reverse()) {
    const rows = [...level].map(([source, n]): CountRow => ({ source, errorCode: codeOf(watch), n }));
    if (startMs < span.toMs) facts.push({ nowMs: startMs + span.stepMs, levels: { rows } });
    for (const [source, steps] of sources)
      level.set(source, (level.get(source) ?? 0) - (steps.get(startMs)?.effect ?? 0));
  }
  return facts.reverse();
}

async function pastAges(db: Queryable, watch: Coded, span: TrialSpan): Promise<AlertFacts[]> {
  const ends = stepsOf(span).map((startMs) => startMs + span.stepMs);
  const code = watch.errorCodes ? { errorCode: [...watch.errorCodes] } : {};
  const scopes = await sourcesWithMost(db, sourcesOf(watch));
  const facts = ends.map((nowMs): AlertFacts & { ages: { rows: AgeRow[] } } => ({
    nowMs,
    ages: { rows: [] },
  }));
  for (const source of scopes) {
    const hours = await readParkedHours(db, { source: [source], ...code }, ends);
    hours.forEach((parked, step) => {
      facts[step]!.ages.rows.push(
        ...parked.map(({ hourMs, n }) => ({ source, errorCode: watch.errorCodes?.[0] ?? null, hourMs, n })),
      );
    });
  }
  return facts;
}

async function sourcesWithMost(db: Queryable, sources: readonly string[] | null): Promise<string[]> {
  const rows = await db.query<{ source: string }>(
    `select s.name as source from sources s left join dlq_level_sums l on l.source_id = s.id and l.status in ${PARKED}
      where $1::text[] is null or s.name = any($1) group by 1 order by coalesce(sum(l.n), 0) desc, 1 limit ${SOURCES_MAX}`,
    [sources],
  );
  return rows.map(({ source }) => source);
}
