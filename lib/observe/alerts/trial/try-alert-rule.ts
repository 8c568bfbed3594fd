import { splitMutes } from "@/lib/events/groups/mutes/end-mutes.write";
import { readOpenMutes } from "@/lib/events/groups/mutes/group-mutes.read";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readAlertFacts } from "@/lib/observe/alerts/facts/alert-facts";
import { sourcesOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, alertKindOf, judge } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type AlertRuleDeps, assertCanFire } from "@/lib/observe/alerts/rules/alert-rules";
import type { AlertTrialOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { readPastFacts, trialSpan } from "@/lib/observe/alerts/trial/past-facts.read";
import { type Trial, type TrialPeriod, tryRule } from "@/lib/observe/alerts/trial/trial.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";

const LISTED_MAX = 100;

/** Judges the past days and the present as an evaluation does. Stores nothing. Throws DomainError `forbidden`, `invalid-config`. */
export async function tryAlertRule(
  deps: AlertRuleDeps & { log: Log },
  watch: AlertWatch,
  viewer: Viewer,
): Promise<AlertTrialOut> {
  assertMay(viewer, "change-alert", sourcesOf(watch) ?? "all");
  await assertCanFire(deps, watch, viewer);
  const { db, clock, log } = deps;
  const nowMs = clock.wallMs();
  const span = trialSpan(watch, nowMs);
  const note = (error: unknown, part: string) => log.warn({ err: error, part }, "a trial has no facts");
  const present = judge(
    watch,
    await readAlertFacts(
      db,
      {
        rules: [watch],
        watched: [],
        muted: splitMutes(await readOpenMutes(db)).inForce,
        nowMs,
      },
      note,
    ),
    new Set(),
  );
  const kind = alertKindOf(watch.kind);
  const past: Trial = kind.group
    ? {
        periods: await readPastGroups(db, { ...kind.group, watch: watch as GroupWatch }, span.fromMs),
        points: new Map(),
        fault: null,
      }
    : tryRule(watch, await readPastFacts(db, watch, span));
  const shown = seriesOf(past);
  return {
    from: iso(span.fromMs),
    to: iso(span.toMs),
    stepMs: span.stepMs,
    noPast: kind.noPast ?? null,
    fired: past.periods.slice(-LISTED_MAX).map(({ fromMs, toMs, ...period }) => ({
      ...period,
      from: iso(fromMs),
      to: isoOrNull(toMs),
    })),
    moreFired: Math.max(0, past.periods.length - LISTED_MAX),
    series: {
      key: shown,
      points: (shown === null ? [] : past.points.get(shown)!).map(({ atMs, ...point }) => ({
        at: iso(atMs),
        ...point,
      })),
    },
    now:
      "findings" in present
        ? present.findings
            .filter(({ holds }) => holds)
            .slice(0, LISTED_MAX)
            .map(({ key, sentence }) => ({ key, sentence }))
        : [],
    fault: "fault" in present ? present.fault : past.fault,
  };
}

/** The one that would have fired most often, else the one with the most points; null = there is none. */
function seriesOf({ periods, points }: Trial): string | null {
  const fired = Map.groupBy(periods, ({ key }) => key);
  const count = (key: string) => fired.get(key)?.length ?? 0;
  const peak = (key: string) => Math.max(0, ...points.get(key)!.map(({ value }) => value ?? 0));
  const [first] = [...points.keys()].sort((left, right) => count(right) - count(left) || peak(right) - peak(left));
  return first ?? null;
}

const HOUR_MS = 3_600_000;
const ARRIVED = "parked + bounced + unstored";
const PERIODS_MAX = 1_000;

type GroupWatch = Extract<AlertWatch, { quietMs: number }>;
type GroupRule = NonNullable<ReturnType<typeof alertKindOf>["group"]> & { watch: GroupWatch };
type Row = {
  fingerprint: string;
  source: string;
  errorCode: string;
  pattern: string;
  fromMs: number;
  beforeMs: number | null;
  n: number;
};

/** When groups began, or came back, since then: by the hour, in which the rule's least must have arrived. */
async function readPastGroups(
  db: Queryable,
  { watch, isFirst, sentence }: GroupRule,
  fromMs: number,
): Promise<TrialPeriod[]> {
  const began = isFirst
    ? "g.first_seen >= to_timestamp($1::float8 / 1000) and h.at = date_trunc('hour', g.first_seen, 'UTC')"
    : "h.before is not null and h.at - h.before >= make_interval(secs => $5::float8 / 1000)";
  const rows = await db.query<Row>(
    `with hours as (
       select fingerprint, source_id, at, ${ARRIVED} as n,
              lag(at) over (partition by fingerprint, source_id order by at) as before
         from dlq_group_flow_hours
        where ${ARRIVED} > 0 and at >= to_timestamp($1::float8 / 1000) - make_interval(secs => $5::float8 / 1000) - interval '1 day')
     select h.fingerprint, s.name as source, g.error_code as "errorCode", g.message_pattern as pattern, h.at as "fromMs",
            h.before as "beforeMs", h.n
       from hours h join dlq_groups g using (fingerprint) join sources s on s.id = h.source_id
      where h.at >= to_timestamp($1::float8 / 1000) and h.n >= $2 and ${began}
        and ($3::text[] is null or s.name = any($3)) and ($4::text[] is null or g.error_code = any($4)) and $5::float8 is not null
      order by h.at limit ${PERIODS_MAX}`,
    [fromMs, watch.atLeast, sourcesOf(watch), watch.errorCodes ?? null, watch.quietMs],
  );
  const masks = await readMasks(db);
  return rows.map(({ pattern, fromMs: atMs, beforeMs, n, ...row }) => {
    const group = { ...row, pattern: maskText(pattern, masks.of(row.source)), arrived: n, runSinceMs: atMs, beforeMs };
    const key = `${row.fingerprint}@${row.source}`;
    return { key, fromMs: atMs, toMs: atMs + HOUR_MS, peak: n, sentence: sentence(group) };
  });
}
