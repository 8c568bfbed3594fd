import { PARKED_STATUSES } from "@/lib/events/event-state.pure";
import { APPROVAL_SUBJECTS, type ApprovalSubject } from "@/lib/guard/approvals/approval.pure";
import { seesSubject } from "@/lib/guard/approvals/approvals.read";
import { listStops } from "@/lib/guard/stops/stops.read";
import { ofSources, seesControl, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { agePercentile, type HourCount } from "@/lib/observe/age-percentiles.pure";
import type { FlowKind } from "@/lib/observe/flow.pure";
import { asSum, END_MS, flowRows } from "@/lib/observe/flow.read";
import { FLOW_KINDS } from "@/lib/observe/flow-tables.sql";
import { type Beat, engineMetrics } from "@/lib/observe/metrics/engine-metrics.read";
import { type Queryable, statementName } from "@/lib/platform/database/db";
import type { Metric } from "@/lib/platform/plain/prometheus.pure";
import { WAITS, type Wait } from "@/lib/redrive/request/redrive-wait.pure";
import { APPROVAL, LIVE_REDRIVES, REDRIVE, waitsFor } from "@/lib/redrive/states/state.sql";
import { CONSUMER_LOST_S } from "@/lib/sources/source-consumers.read";
import type { ConsumerWord } from "@/lib/sources/source-mode.pure";
import { HEARTBEAT_LOST_S } from "@/lib/sources/targets/target-list.read";
import { readTargets } from "@/lib/sources/targets/targets.read";

/** The values of a scrape, all from rollups and heartbeats: the cost does not grow with the number of events. */

/** Rates are taken over this long, seconds; a rollup row is a minute. */
const RATE_WINDOW_S = 300;
const SUCCESS_WINDOW_H = 24;
/** Maximum error codes: error codes are an open set, and each is a series. */
const TOP_CODES = 10;
/** Maximum series of one source: a bug that writes ids as error codes must not make a scrape of megabytes. */
const SOURCE_CODES = 50;
/** The label for all further codes. */
const OTHER = "other";
/** Maximum series of the lag of one source: a pattern of topics may have any number of partitions. */
const SOURCE_PARTS = 50;

type Level = { source: string; code: string; n: number };

export async function readMetrics(db: Queryable, viewer: Viewer, nowMs: number): Promise<Metric[]> {
  const scope = sourceScope(viewer);
  const parked = [PARKED_STATUSES, scope];
  const [
    levels,
    top,
    statuses,
    hours,
    flow,
    redrives,
    controls,
    admission,
    outbox,
    beats,
    consumers,
    stops,
    rules,
    waits,
  ] = await Promise.all([
    db.query<Level>(
      `with parked as (
         select source_id, error_code, sum(n) as n from dlq_level_sums where status = any($1::text[]) and ${ofSources("source_id", "$2")}
          group by 1, 2 having sum(n) > 0),
       ranked as (
         select *, row_number() over (partition by source_id order by n desc, error_code) as place from parked)
       select s.name as source, case when place <= ${SOURCE_CODES} then error_code else '${OTHER}' end as code,
              sum(n)::bigint as n
         from ranked join sources s on s.id = source_id group by 1, 2 order by 1, 3 desc, 2`,
      parked,
    ),
    db.query<{ code: string; n: number }>(
      `select error_code as code, sum(n)::bigint as n from dlq_level_sums where status = any($1::text[])
          and ${ofSources("source_id", "$2")}
        group by 1 having sum(n) > 0 order by 2 desc, 1 limit ${TOP_CODES}`,
      parked,
    ),
    db.query<{ status: string; n: number }>(
      `select status, sum(n)::bigint as n from dlq_level_sums where ${ofSources("source_id", "$1")} group by 1`,
      [scope],
    ),
    db.query<HourCount>(
      `select hour as "hourMs", sum(n)::bigint as n from dlq_level_ages
        where status = any($1::text[]) and ${ofSources("source_id", "$2")} group by 1 having sum(n) > 0`,
      parked,
    ),
    readFlow(db, scope, nowMs),
    db.query<RedriveSums>(
      `select state, count(*) as n, sum(delivered - deduplicated)::bigint as sent, sum(deduplicated)::bigint as deduplicated,
                sum(confirmed)::bigint as confirmed, sum(bounced)::bigint as bounced, sum(failed)::bigint as failed,
                sum(refused)::bigint as refused, sum(cancelled)::bigint as cancelled
           from redrives r where ${seesRedrive("r", "$1")} group by state`,
      [scope],
    ),
    db.query<ControlCount>(
      `select kind, origin, count(*) as n from controls c
        where lifted_at is null and (expires_at is null or expires_at > now()) and ${seesControl("$1")}
        group by kind, origin
       union all
       select 'blacklist', 'automatic', count(*) from aggregates where blacklist_id is not null and ${ofSources("source_id", "$1")}`,
      [scope],
    ),
    db.query<{ source: string; outcome: string; n: number }>(
      `select s.name as source, c.outcome, sum(c.n)::bigint as n
         from admission_counts c join sources s on s.id = c.source_id
        where c.hour >= date_trunc('hour', now() - interval '24 hours', 'UTC') and ${ofSources("c.source_id", "$1")}
        group by s.name, c.outcome`,
      [scope],
    ),
    db.query<{ status: string; n: number }>(
      `select status, count(*) as n from outbox
        where status <> 'SENT' and ($1::text[] is null or aggregate_id = any($1)) group by 1`,
      [scope],
    ),
    readBeats(db, scope),
    db.query<Consumer>(
      `select s.name as source, c.worker, c.state, c.lag, c.parked, c.parts from source_consumers c join sources s on s.id = c.source_id
        where c.at > now() - interval '${CONSUMER_LOST_S} s' and ${ofSources("s.id", "$1")} order by s.name, c.worker`,
      [scope],
    ),
    listStops(db, viewer),
    readRuleCounts(db, scope),
    readWaits(db, scope),
  ]);
  return [
    ...sizeMetrics(levels, top, statuses),
    ...ageMetrics(hours, nowMs),
    ...flow,
    controlMetric(controls),
    gauge(
      "parkade_stopped",
      "1 while a person has stopped the sends: of everything, or to one target.",
      [{ labels: { scope: "everything" }, value: stops.some(({ target }) => target === null) ? 1 : 0 }].concat(
        stops.flatMap(({ target }) => (target === null ? [] : [{ labels: { scope: "target", target }, value: 1 }])),
      ),
    ),
    ...sourceMetrics(consumers),
    ...redriveRuleMetrics(rules),
    ...waitMetrics(waits),
    gauge(
      "admission_24h",
      "Arrivals by what the rules of admission did in 24 h: one that several rules match counts for each.",
      admission.map(({ n, ...labels }) => ({ labels, value: n })),
    ),
    gauge(
      "outbox_messages",
      "Confirmations that wait to be sent (NEW), and those that were given up (FAILED).",
      outbox.map(({ n, ...labels }) => ({ labels, value: n })),
    ),
    ...workMetrics(redrives, beats),
  ];
}

/** The reports of the live workers about the targets of these sources. */
async function readBeats(db: Queryable, scope: string[] | null): Promise<Beat[]> {
  const beats = await db.query<Beat>(
    `select id as worker, info from worker_heartbeats where seen_at > now() - interval '${HEARTBEAT_LOST_S} s'`,
  );
  if (scope === null) return beats;
  const seen = new Set((await readTargets(db)).filter(({ source }) => scope.includes(source)).map(({ name }) => name));
  return beats.map(({ worker, info }) => {
    const targets = Object.entries(info.targets ?? {}).filter(([name]) => seen.has(name));
    return { worker, info: { ...info, targets: Object.fromEntries(targets) } };
  });
}

function sizeMetrics(
  levels: Level[],
  top: { code: string; n: number }[],
  statuses: { status: string; n: number }[],
): Metric[] {
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

function gauge(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, help, type: "gauge", samples };
}

/** Exact to an hour: the rollup holds the hour of first sight. */
function ageMetrics(hours: HourCount[], nowMs: number): Metric[] {
  const seconds = (share: number) => {
    const ms = agePercentile(hours, share, nowMs);
    return ms === null ? null : Math.round(ms / 1000);
  };
  return [
    gauge(
      "message_age_seconds",
      "Age of parked events by quantile; quantile 1 is the oldest.",
      [0.5, 0.95, 1].map((share) => ({ labels: { quantile: String(share) }, value: seconds(share) })),
    ),
    gauge("message_age_p95", 'message_age_seconds{quantile="0.95"} under a name of its own.', [
      { value: seconds(0.95) },
    ]),
  ];
}

type FlowSums = Record<FlowKind, number> & { recent: boolean };

async function readFlow(db: Queryable, scope: string[] | null, nowMs: number): Promise<Metric[]> {
  const recentFromMs = nowMs - RATE_WINDOW_S * 1000;
  const spans = [asSum(nowMs - SUCCESS_WINDOW_H * 3_600_000, recentFromMs), asSum(recentFromMs, END_MS)];
  const flow = flowRows(scope === null ? {} : { source: scope }, spans);
  const sums = FLOW_KINDS.map((kind) => `sum(${kind})::bigint as ${kind}`).join(", ");
  const text = `select at >= to_timestamp($${flow.values.push(recentFromMs)}::float8 / 1000) as recent, ${sums}
                  from (${flow.sql}) flow group by 1`;
  const rows = await db.query<FlowSums>(text, flow.values, { name: statementName("flow-sums", text) });
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
      { value: of(recent, "redriven", "ignored") / RATE_WINDOW_S },
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

type Consumer = {
  source: string;
  worker: string;
  state: ConsumerWord;
  lag: number | null;
  parked: number;
  parts: { name: string; lag: number | null }[];
};

function sourceMetrics(consumers: Consumer[]): Metric[] {
  return [
    gauge(
      "parkade_source_lag",
      `Messages that a source has not parked yet. Parts beyond the ${SOURCE_PARTS} with the most are "${OTHER}".`,
      [...Map.groupBy(consumers, ({ source }) => source)].flatMap(([source, its]) => lagSamples(source, its)),
    ),
    {
      name: "parkade_source_parked_total",
      help: "Events that a worker parked from a source since it began to read it.",
      type: "counter",
      samples: consumers.map(({ source, worker, parked }) => ({ labels: { source, worker }, value: parked })),
    },
    gauge(
      "parkade_source_consumers",
      "Workers that read a source, by state.",
      [...Map.groupBy(consumers, ({ source, state }) => JSON.stringify({ source, state }))].map(([labels, its]) => ({
        labels: JSON.parse(labels) as Record<string, string>,
        value: its.length,
      })),
    ),
  ];
}

/** A series for each part, or one of the whole where the broker has no parts: then each worker counts all of it. */
function lagSamples(source: string, consumers: Consumer[]): Metric["samples"] {
  // While parts move between workers, two of them may report the same one.
  const lags = new Map<string, number>();
  for (const { name, lag } of consumers.flatMap((consumer) => consumer.parts))
    if (lag !== null) lags.set(name, Math.max(lag, lags.get(name) ?? 0));
  if (lags.size === 0) {
    const known = consumers.flatMap(({ lag }) => lag ?? []);
    return [{ labels: { source }, value: known.length === 0 ? null : Math.max(...known) }];
  }
  const parts = [...lags].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
  const rest = parts.splice(SOURCE_PARTS);
  if (rest.length > 0) parts.push([OTHER, rest.reduce((sum, [, lag]) => sum + lag, 0)]);
  return parts.map(([part, value]) => ({ labels: { source, part }, value }));
}

type RuleCount = { name: string; state: "on" | "off" | "stopped"; events: number };

function readRuleCounts(db: Queryable, scope: string[] | null): Promise<RuleCount[]> {
  return db.query<RuleCount>(
    `select r.name, case when r.enabled then 'on' when r.stopped_at is not null then 'stopped' else 'off' end as state,
            (select coalesce(sum(x.events), 0)::bigint from redrive_rule_runs x
              where x.rule_id = r.id and x.at > now() - interval '24 hours') as events
       from redrive_rules r where $1::text[] is null or r.body -> 'filter' -> 'source' <@ to_jsonb($1::text[])
      order by r.position`,
    [scope],
  );
}

function redriveRuleMetrics(rules: RuleCount[]): Metric[] {
  const states = ["on", "off", "stopped"] as const;
  return [
    gauge(
      "redrive_rules",
      'Redrive rules by state; "stopped" switched itself off because its events failed or came back.',
      states.map((state) => ({ labels: { state }, value: rules.filter((rule) => rule.state === state).length })),
    ),
    gauge(
      "redrive_rule_events_24h",
      "Events that a redrive rule redrove in 24 h.",
      rules.map(({ name, events }) => ({ labels: { rule: name }, value: events })),
    ),
  ];
}

type WaitCounts = Record<Wait["for"] | "hold", number> & {
  approvals: { subject: ApprovalSubject; n: number }[] | null;
  oldestApprovalS: number | null;
};

async function readWaits(db: Queryable, scope: string[] | null): Promise<WaitCounts> {
  const counts = WAITS.map((wait) => `count(*) filter (where ${waitsFor([wait])}) as "${wait}"`).join(", ");
  const [row] = await db.query<WaitCounts>(
    `with asked as materialized (
       select a.subject_kind, a.asked_at from approvals a where a.state = ${APPROVAL.asked} and a.expires_at > now() and ${seesSubject("$1")})
     select ${counts}, count(*) filter (where r.state = ${REDRIVE.RUNNING} and r.hold_until > now()) as hold,
            (select jsonb_agg(jsonb_build_object('subject', subject_kind, 'n', n))
               from (select subject_kind, count(*) as n from asked group by 1) kinds) as approvals,
            (select extract(epoch from now() - min(asked_at))::float8 from asked) as "oldestApprovalS"
       from redrives r where r.state in ${LIVE_REDRIVES} and ${seesRedrive("r", "$1")}`,
    [scope],
  );
  return row!;
}

function waitMetrics({ approvals, oldestApprovalS, ...waits }: WaitCounts): Metric[] {
  return [
    gauge(
      "redrives_waiting",
      "Frozen redrives by what they wait for: an approval, a time, a breaker that closes, or the hold in which each can be undone.",
      [...WAITS, "hold" as const].map((wait) => ({ labels: { for: wait }, value: waits[wait] })),
    ),
    gauge(
      "approvals_waiting",
      "Redrives and bulk operations that wait for the approval of a second person.",
      APPROVAL_SUBJECTS.map((subject) => ({
        labels: { subject },
        value: approvals?.find((asked) => asked.subject === subject)?.n ?? 0,
      })),
    ),
    gauge("approval_oldest_seconds", "Age of the oldest request for approval that nobody has answered.", [
      { value: oldestApprovalS },
    ]),
  ];
}

type ControlCount = { kind: string; origin: string; n: number };

function controlMetric(counts: ControlCount[]): Metric {
  const sums = new Map<string, number>();
  for (const { kind, origin, n } of counts) {
    const key = JSON.stringify([kind, origin]);
    sums.set(key, (sums.get(key) ?? 0) + n);
  }
  return gauge(
    "controls",
    "Controls in force by kind and by who imposed them: a person, or Parkade on an aggregate that keeps failing.",
    [...sums].map(([key, value]) => {
      const [kind, origin] = JSON.parse(key) as [string, string];
      return { labels: { kind, origin }, value };
    }),
  );
}

const OUTCOMES = ["sent", "deduplicated", "confirmed", "bounced", "failed", "refused", "cancelled"] as const;
type RedriveSums = { state: string; n: number } & Record<(typeof OUTCOMES)[number], number>;

function workMetrics(redrives: RedriveSums[], beats: Beat[]): Metric[] {
  return [
    gauge(
      "redrives",
      "Redrives by state.",
      redrives.map(({ state, n }) => ({ labels: { state }, value: n })),
    ),
    gauge(
      "redrive_events",
      "Events of all redrives by what became of them: of the sent and deduplicated, some are confirmed and some bounced.",
      OUTCOMES.map((outcome) => ({
        labels: { outcome },
        value: redrives.reduce((sum, sums) => sum + Number(sums[outcome]), 0),
      })),
    ),
    gauge("workers_alive", `Workers heard of within ${HEARTBEAT_LOST_S} s.`, [{ value: beats.length }]),
    ...engineMetrics(beats),
  ];
}
