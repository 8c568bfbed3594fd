import type { ConsumerWord } from "@/lib/brokers/source-mode.pure";
import { APPROVAL_SUBJECTS, type ApprovalSubject } from "@/lib/guard/approvals/approval.pure";
import { seesSubject } from "@/lib/guard/approvals/approvals.read";
import { listStops } from "@/lib/guard/stops/stops.read";
import { ofSources, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { type MeasuredRoom, readRoom } from "@/lib/intake/room/room.read";
import { type Beat, engineMetrics } from "@/lib/observe/metrics/engine-metrics.read";
import type { Scrape } from "@/lib/observe/metrics/parked-metrics.read";
import type { Queryable } from "@/lib/platform/database/db";
import { gauge, type Metric } from "@/lib/platform/plain/prometheus.pure";
import { CONSUMER_IS_LIVE } from "@/lib/sources/source-consumers.read";
import { HEARTBEAT_LOST_S, IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import { readTargets } from "@/lib/sources/targets/targets.read";
import { WAITS, type Wait } from "@/lib/states/redrive-wait.pure";
import { SEVERITIES, type Severity } from "@/lib/states/severity.pure";
import { APPROVAL, LIVE_REDRIVES, REDRIVE, waitsFor } from "@/lib/states/state.sql";

/** Metrics of what works on the events: sources, redrives, rules, waits, workers and their targets. */

/** Maximum series of the lag of one source: a pattern of topics may have any number of partitions. */
const SOURCE_PARTS = 50;

type Consumer = {
  source: string;
  worker: string;
  state: ConsumerWord;
  lag: number | null;
  parked: number;
  parts: { name: string; lag: number | null }[];
};

export async function sourceMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const consumers = await db.query<Consumer>(
    `select s.name as source, c.worker, c.state, c.lag, c.parked, c.parts from source_consumers c join sources s on s.id = c.source_id
      where ${CONSUMER_IS_LIVE} and ${ofSources("s.id", "$1")} order by s.name, c.worker`,
    [scope],
  );
  return [
    gauge(
      "parkade_source_lag",
      `Messages that a source has not parked yet. Parts beyond the ${SOURCE_PARTS} with the most are "other".`,
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
  if (rest.length > 0) parts.push(["other", rest.reduce((sum, [, lag]) => sum + lag, 0)]);
  return parts.map(([part, value]) => ({ labels: { source, part }, value }));
}

export async function ruleMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const rules = await db.query<{ name: string; state: "on" | "off" | "stopped"; events: number }>(
    `select r.name, case when r.enabled then 'on' when r.stopped_at is not null then 'stopped' else 'off' end as state,
            (select coalesce(sum(x.events), 0)::bigint from redrive_rule_runs x
              where x.rule_id = r.id and x.at > now() - interval '24 hours') as events
       from redrive_rules r where $1::text[] is null or r.body -> 'filter' -> 'source' <@ to_jsonb($1::text[])
      order by r.position`,
    [scope],
  );
  const states = ["on", "off", "stopped"] as const;
  return [
    gauge(
      "redrive_rules",
      'Redrive rules by state; "stopped" switched itself off because its events failed or bounced.',
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

export async function waitMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
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
  const { approvals, oldestApprovalS, ...waits } = row!;
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

export async function stopMetrics(db: Queryable, { viewer }: Scrape): Promise<Metric[]> {
  const stops = await listStops(db, viewer);
  const targets = stops.flatMap(({ target }) =>
    target === null ? [] : [{ labels: { scope: "target", target }, value: 1 }],
  );
  const everything = stops.some(({ target }) => target === null) ? 1 : 0;
  return [
    gauge("parkade_stopped", "1 while a person has stopped the sends: of everything, or to one target.", [
      { labels: { scope: "everything" }, value: everything },
      ...targets,
    ]),
  ];
}

export async function intakeMetrics(db: Queryable): Promise<Metric[]> {
  const rooms = await readRoom(db);
  const samples = (value: (room: MeasuredRoom) => number) =>
    [...Map.groupBy(rooms, ({ measure }) => measure)].map(([measure, its]) => ({
      labels: { measure },
      value: value(its.toSorted((a, b) => Number(b.stopped) - Number(a.stopped) || a.leftBytes - b.leftBytes)[0]!),
    }));
  return [
    gauge(
      "parkade_intake_stopped",
      "1 while no events are taken in because there is no room for them, by what is measured; absent where no limit is set.",
      samples(({ stopped }) => Number(stopped)),
    ),
    gauge(
      "parkade_intake_room_bytes",
      "Bytes until intake stops, by what is measured; negative beyond the limit.",
      samples(({ leftBytes }) => leftBytes),
    ),
  ];
}

type TableSize = { table: string; bytes: number };

/** Sizes ask the file system for each file of each table, of which each day has several: once in this long in a process. */
const SIZES_KEPT_MS = 60_000;
const sizesKept = new WeakMap<Queryable, { atMs: number; sizes: Promise<TableSize[]> }>();

/** Only for viewers of all sources. */
export async function tableMetrics(db: Queryable, { scope, nowMs }: Scrape): Promise<Metric[]> {
  const sizes = scope === null ? await tableSizes(db, nowMs) : [];
  return [
    gauge(
      "parkade_table_bytes",
      "Bytes of each table with its indexes, all of its days together, at most a minute old.",
      sizes.map(({ table, bytes }) => ({ labels: { table }, value: bytes })),
    ),
  ];
}

function tableSizes(db: Queryable, nowMs: number): Promise<TableSize[]> {
  const kept = sizesKept.get(db);
  if (kept && Math.abs(nowMs - kept.atMs) <= SIZES_KEPT_MS) return kept.sizes;
  const sizes = db.query<TableSize>(
    `select coalesce(p.relname, c.relname)::text as table, sum(pg_total_relation_size(c.oid))::float8 as bytes
       from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace group by 1 order by 1`,
    [],
    { name: "table-sizes" },
  );
  sizesKept.set(db, { atMs: nowMs, sizes });
  sizes.catch(() => sizesKept.delete(db));
  return sizes;
}

export async function admissionMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const admission = await db.query<{ source: string; outcome: string; n: number }>(
    `select s.name as source, c.outcome, sum(c.n)::bigint as n
       from admission_counts c join sources s on s.id = c.source_id
      where c.hour >= date_trunc('hour', now() - interval '24 hours', 'UTC') and ${ofSources("c.source_id", "$1")}
      group by s.name, c.outcome`,
    [scope],
  );
  return [
    gauge(
      "admission_24h",
      "Arrivals by what admission rules did in 24 h: one that several rules match counts for each.",
      admission.map(({ n, ...labels }) => ({ labels, value: n })),
    ),
  ];
}

export async function outboxMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const outbox = await db.query<{ status: string; n: number }>(
    `select status, count(*) as n from outbox
      where status <> 'SENT' and ($1::text[] is null or aggregate_id = any($1)) group by 1`,
    [scope],
  );
  return [
    gauge(
      "outbox_messages",
      "Confirmations that wait to be sent (NEW), and those that were given up (FAILED).",
      outbox.map(({ n, ...labels }) => ({ labels, value: n })),
    ),
  ];
}

export async function alertMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const alerts = await db.query<{ severity: Severity; acknowledged: boolean; n: number }>(
    `select severity, acknowledged_at is not null as acknowledged, count(*)::int as n from alerts
      where state = 'firing' and ($1::text[] is null or source = any($1)) group by 1, 2`,
    [scope],
  );
  const messages = await db.query<{ status: string; n: number }>(
    `select o.status, count(*)::int as n from alert_outbox o join alert_channels c on c.id::text = o.destination
      where o.status <> 'SENT' and ($1::text[] is null or c.sources <@ $1::text[]) group by 1`,
    [scope],
  );
  // A time in the future was stored before the clock was set back.
  const [evaluation] = await db.query<{ ageS: number; tookS: number | null }>(
    `select abs(extract(epoch from now() - stored_at))::float8 as "ageS", took_ms / 1000 as "tookS" from alert_evaluation`,
  );
  const states = [false, true].flatMap((acknowledged) => SEVERITIES.map((severity) => ({ severity, acknowledged })));
  return [
    gauge(
      "parkade_alerts",
      "Firing alerts by severity, and whether they are acknowledged.",
      states.map(({ severity, acknowledged }) => ({
        labels: { severity, acknowledged: String(acknowledged) },
        value: alerts.find((row) => row.severity === severity && row.acknowledged === acknowledged)?.n ?? 0,
      })),
    ),
    gauge(
      "parkade_alert_messages",
      "Messages to channels that wait to be sent (NEW), and those that were given up (FAILED).",
      ["NEW", "FAILED"].map((status) => ({
        labels: { status },
        value: messages.find((row) => row.status === status)?.n ?? 0,
      })),
    ),
    gauge("parkade_alert_evaluation_age_seconds", "Time since the last evaluation of the alert rules.", [
      { value: evaluation!.ageS },
    ]),
    gauge("parkade_alert_evaluation_seconds", "How long the last evaluation took.", [
      { value: evaluation?.tookS ?? null },
    ]),
  ];
}

/** A scrape sums up this many ended redrives: there may be a million. */
const ENDED_MAX = 10_000;

const OUTCOMES = ["sent", "deduplicated", "confirmed", "bounced", "failed", "refused", "cancelled"] as const;
type RedriveSums = { state: string; n: number } & Record<(typeof OUTCOMES)[number], number>;

export async function redriveMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const redrives = await db.query<RedriveSums>(
    `select state, count(*) as n, sum(delivered - deduplicated)::bigint as sent, sum(deduplicated)::bigint as deduplicated,
              sum(confirmed)::bigint as confirmed, sum(bounced)::bigint as bounced, sum(failed)::bigint as failed,
              sum(refused)::bigint as refused, sum(cancelled)::bigint as cancelled
         from (select * from redrives where state in ${LIVE_REDRIVES}
               union all
               (select * from redrives where finished_at is not null order by finished_at desc limit ${ENDED_MAX})) r
        where ${seesRedrive("r", "$1")} group by state`,
    [scope],
  );
  return [
    gauge(
      "redrives",
      `Redrives by state: all under way, and the last ${ENDED_MAX} that ended.`,
      redrives.map(({ state, n }) => ({ labels: { state }, value: n })),
    ),
    gauge(
      "redrive_events",
      "Events of these redrives by what became of them: of the sent and deduplicated, some are confirmed and some bounced.",
      OUTCOMES.map((outcome) => ({
        labels: { outcome },
        value: redrives.reduce((sum, sums) => sum + Number(sums[outcome]), 0),
      })),
    ),
  ];
}

export async function workerMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const beats = await readBeats(db, scope);
  return [
    gauge("workers_alive", `Workers with a heartbeat in the last ${HEARTBEAT_LOST_S} s.`, [{ value: beats.length }]),
    ...engineMetrics(beats),
  ];
}

/** The reports of the live workers about the targets of these sources. */
async function readBeats(db: Queryable, scope: string[] | null): Promise<Beat[]> {
  const beats = await db.query<Beat>(`select id as worker, info from worker_heartbeats where ${IS_ALIVE}`);
  if (scope === null) return beats;
  const seen = new Set((await readTargets(db)).filter(({ source }) => scope.includes(source)).map(({ name }) => name));
  return beats.map(({ worker, info }) => {
    const targets = Object.entries(info.targets ?? {}).filter(([name]) => seen.has(name));
    return { worker, info: { ...info, targets: Object.fromEntries(targets) } };
  });
}
