import { ofSources, seesControl } from "@/lib/guard/viewer/scope.sql";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readAgesNow } from "@/lib/observe/stats/stats.read";
import { IN_FORCE } from "@/lib/order/controls/control.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { gauge, type Metric, summary } from "@/lib/platform/plain/prometheus.pure";
import { asSum, END_MS, flowRows } from "@/lib/selection/flow.read";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";
import type { FlowKind } from "@/lib/states/flow.pure";
import { DELTA_KINDS, FLOW_KINDS } from "@/lib/states/flow-tables.sql";

/** Metrics of what is parked: how many events, how old, what came and went, which controls hold them. */

/** Whose metrics are read, and when. `scope`: the names of the sources that the viewer sees; null = all. */
export type Scrape = { viewer: Viewer; scope: string[] | null; nowMs: number };

/** Rates are taken over this long, seconds; a rollup row is a minute. */
const RATE_WINDOW_S = 300;
const SUCCESS_WINDOW_H = 24;
/** Maximum error codes: error codes are an open set, and each is a series. */
const TOP_CODES = 10;
/** Maximum series of one source: a bug that writes ids as error codes must not make a scrape of megabytes. */
const SOURCE_CODES = 50;
/** The label for all further codes. */
const OTHER = "other";

export async function sizeMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const parked = [PARKED_STATUSES, scope];
  const levels = await db.query<{ source: string; code: string; n: number }>(
    `with parked as (
       select source_id, error_code, sum(n) as n from dlq_level_sums where status = any($1::text[]) and ${ofSources("source_id", "$2")}
        group by 1, 2 having sum(n) > 0),
     ranked as (
       select *, row_number() over (partition by source_id order by n desc, error_code) as place from parked)
     select s.name as source, case when place <= ${SOURCE_CODES} then error_code else '${OTHER}' end as code,
            sum(n)::bigint as n
       from ranked join sources s on s.id = source_id group by 1, 2 order by 1, 3 desc, 2`,
    parked,
  );
  const top = await db.query<{ code: string; n: number }>(
    `select error_code as code, sum(n)::bigint as n from dlq_level_sums where status = any($1::text[])
        and ${ofSources("source_id", "$2")}
      group by 1 having sum(n) > 0 order by 2 desc, 1 limit ${TOP_CODES}`,
    parked,
  );
  const statuses = await db.query<{ status: string; n: number }>(
    `select status, sum(n)::bigint as n from dlq_level_sums where ${ofSources("source_id", "$1")} group by 1`,
    [scope],
  );
  return [
    gauge(
      "dlq_size",
      `Events parked now (PENDING and QUEUED). Codes beyond the ${SOURCE_CODES} largest of a source are "${OTHER}".`,
      levels.map(({ source, code, n }) => ({ labels: { source, error_code: code }, value: n })),
    ),
    gauge(
      "dlq_events",
      "Events in the store by status.",
      statuses.map(({ status, n }) => ({ labels: { status }, value: n })),
    ),
    gauge(
      "top_error_code",
      `The ${TOP_CODES} error codes with the most parked events.`,
      top.map(({ code, n }) => ({ labels: { error_code: code }, value: n })),
    ),
  ];
}

export async function ageMetrics(db: Queryable, { scope, nowMs }: Scrape): Promise<Metric[]> {
  const { p50Ms, p95Ms, oldestMs } = await readAgesNow(db, scope === null ? {} : { source: scope }, nowMs);
  const seconds = (ms: number | null) => (ms === null ? null : Math.round(ms / 1000));
  return [
    summary(
      "message_age_seconds",
      "Age of parked events by quantile: 1 is the oldest, exact; others are within an hour.",
      [
        { labels: { quantile: "0.5" }, value: seconds(p50Ms) },
        { labels: { quantile: "0.95" }, value: seconds(p95Ms) },
        { labels: { quantile: "1" }, value: seconds(oldestMs) },
      ],
    ),
    gauge("message_age_p95", 'message_age_seconds{quantile="0.95"} under a name of its own.', [
      { value: seconds(p95Ms) },
    ]),
  ];
}

type FlowSums = Record<FlowKind, number> & { recent: boolean };

/** Rates of five minutes, success and flow of a day. */
export async function flowMetrics(db: Queryable, { scope, nowMs }: Scrape): Promise<Metric[]> {
  const recentFromMs = nowMs - RATE_WINDOW_S * 1000;
  const spans = [asSum(nowMs - SUCCESS_WINDOW_H * 3_600_000, recentFromMs), asSum(recentFromMs, END_MS)];
  const flow = flowRows(scope === null ? {} : { source: scope }, spans);
  const sums = FLOW_KINDS.map((kind) => `sum(${kind})::bigint as ${kind}`).join(", ");
  const text = `select at >= to_timestamp($${flow.values.push(recentFromMs)}::float8 / 1000) as recent, ${sums}
                  from (${flow.sql}) flow group by 1`;
  const rows = await db.query<FlowSums>(text, flow.values, { name: "flow-sums" });
  const sumsOf = (wanted: FlowSums[]) =>
    new Map(FLOW_KINDS.map((kind) => [kind as string, wanted.reduce((sum, row) => sum + row[kind], 0)]));
  const day = sumsOf(rows);
  const recent = sumsOf(rows.filter((row) => row.recent));
  const of = (sums: Map<string, number>, ...kinds: string[]) =>
    kinds.reduce((sum, kind) => sum + (sums.get(kind) ?? 0), 0);
  const confirmed = Math.max(0, of(day, "confirmed") - of(day, "unconfirmed"));
  const settled = confirmed + of(day, "bounced", "failed");
  return [
    gauge(
      "dlq_in_rate",
      "Events that entered the parked set per second, over five minutes: parked, bounced or released.",
      [{ value: of(recent, "parked", "bounced", "released") / RATE_WINDOW_S }],
    ),
    gauge("dlq_out_rate", "Events that left the parked set per second, over five minutes.", [
      { value: of(recent, "redriven", "ignored", "expired") / RATE_WINDOW_S },
    ]),
    gauge(
      "redrive_success_rate",
      "Confirmed redrives of those settled in 24 h: confirmed / (confirmed + bounced + failed).",
      [{ value: settled === 0 ? null : confirmed / settled }],
    ),
    gauge(
      "dlq_flow_24h",
      "Events by what happened to them in 24 h.",
      [...day].map(([kind, value]) => ({ labels: { kind }, value })),
    ),
  ];
}

/** What became of an arrival, by its kind of flow. */
const ARRIVED = ["parked", "bounced", "duplicate", "dropped", "unstored", "rejected"] as const satisfies FlowKind[];

/** All arrivals since the store began, from daily sums that are kept for good, so that a restart resets no counter. */
export async function arrivalMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const sums = ARRIVED.map((kind) => `sum(${kind})::bigint as ${kind}`).join(", ");
  const rows = await db.query<Record<(typeof ARRIVED)[number], number> & { source: string }>(
    `select s.name as source, ${sums} from (
       select source_id, ${ARRIVED.join(", ")} from dlq_source_flow_days
       union all select source_id, ${ARRIVED.join(", ")} from (select source_id, ${DELTA_KINDS} from dlq_flow) deltas) f
       join sources s on s.id = f.source_id where ${ofSources("s.id", "$1")} group by 1 order by 1`,
    [scope],
    { name: "arrivals-ever" },
  );
  return [
    {
      name: "parkade_intake_arrivals_total",
      help: "Arrivals by what became of them: parked, bounced, duplicate, dropped (noise), unstored (in a storm), rejected.",
      type: "counter",
      samples: rows.flatMap(({ source, ...counts }) =>
        ARRIVED.map((outcome) => ({ labels: { source, outcome }, value: counts[outcome] })),
      ),
    },
  ];
}

/** A scrape counts the blacklists that Parkade imposed up to here: there may be a million. */
const AUTOMATIC_MAX = 10_000;

export async function controlMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const counts = await db.query<{ kind: string; origin: string; n: number }>(
    `select kind, origin, count(*) as n from (
       (select kind, origin from controls c where c.origin = 'person' and ${IN_FORCE} and ${seesControl("$1")})
       union all
       (select kind, origin from controls c where c.origin = 'automatic' and c.lifted_at is null and ${seesControl("$1")}
         limit ${AUTOMATIC_MAX})) in_force
      group by kind, origin`,
    [scope],
  );
  return [
    gauge(
      "controls",
      `Controls in force by kind and by who added them: a person, or Parkade on an aggregate that keeps failing, of which at most ${AUTOMATIC_MAX} are counted.`,
      counts.map(({ n, ...labels }) => ({ labels, value: n })),
    ),
  ];
}
