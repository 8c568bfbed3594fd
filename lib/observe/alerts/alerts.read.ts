import { arrivedEver } from "@/lib/events/groups/mutes/group-mutes.read";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { LiveState } from "@/lib/observe/alerts/alert-state.pure";
import { type AlertEvidence, type AlertList, type AlertOut, evidenceOut } from "@/lib/observe/alerts/alerts.shapes";
import type { AlertSubject } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertKind, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { isOver, isWithin } from "@/lib/platform/database/moments.sql";
import { plural } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import type { Severity } from "@/lib/states/severity.pure";

/** A live alert as an evaluation needs it. Times are epoch milliseconds. */
export type LiveAlertRow = {
  id: string;
  ruleId: string;
  ruleName: string;
  kind: AlertKind;
  severity: Severity;
  key: string;
  source: string | null;
  subject: AlertSubject;
  state: LiveState;
  sinceMs: number;
  firedAtMs: number | null;
  /** The evaluation in which it fired and could be sent; null = not yet. */
  toldFrom: number | null;
  clearSinceMs: number | null;
  acknowledged: boolean;
  acknowledgedBy: string | null;
  value: number | null;
  usual: number | null;
  sentence: string;
  evidence: AlertEvidence | Record<string, never>;
};

export async function readLiveAlerts(db: Queryable): Promise<LiveAlertRow[]> {
  return db.query<LiveAlertRow>(
    `select id, rule_id as "ruleId", rule_name as "ruleName", kind, severity, key, source, subject, state, since as "sinceMs",
            fired_at as "firedAtMs", told_from_evaluation as "toldFrom", clear_since as "clearSinceMs",
            acknowledged_at is not null as acknowledged, acknowledged_by as "acknowledgedBy", value, usual, sentence, evidence
       from alerts where state <> 'resolved' order by id`,
    [],
    { name: "live-alerts" },
  );
}

/** Groups of which an alert ended within the last hour: what arrived before its end raises no other. */
export async function readEndedGroups(
  db: Queryable,
): Promise<{ fingerprint: string; source: string; sinceMs: number }[]> {
  return db.query(
    `select subject ->> 'fingerprint' as fingerprint, source, max(resolved_at) as "sinceMs" from alerts
      where state = 'resolved' and ${isWithin("resolved_at", "interval '1 hour'")} and subject ? 'fingerprint' and source is not null
      group by 1, 2`,
    [],
    { name: "ended-group-alerts" },
  );
}

/** Of a viewer of some sources: an alert over every source tells of all of them. */
const SEEN = "($1::text[] is null or a.source = any($1))";

const COLUMNS = `a.id, jsonb_build_object('id', a.rule_id, 'name', a.rule_name) as rule, a.kind, a.severity, a.state, a.source, a.subject,
  a.sentence, a.value, a.threshold, a.usual, a.since, a.fired_at as "firedAt", a.acknowledged_at as "acknowledgedAt",
  a.acknowledged_by as "acknowledgedBy", a.acknowledge_note as "acknowledgeNote", a.resolved_at as "resolvedAt",
  a.resolved_because as "resolvedBecause", a.evidence, r.body ->> 'runbookUrl' as "ownRunbook",
  case when a.state = 'firing' then (select max(m.until_at) from alert_maintenances m
     where m.ended_at is null and m.from_at <= now() and m.until_at > now()
       and (m.sources is null or a.source = any(m.sources))) end as "maintenanceUntil",
  case when a.state = 'firing' and a.subject ? 'fingerprint' then (
    select jsonb_build_object('id', m.id, 'until', to_char(m.until_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'untilMore', case when m.until_more is not null then greatest(0, m.until_more - (${arrivedEver("m.fingerprint", "m.source")} - m.arrived_start)) end, 'createdBy', m.created_by)
      from group_mutes m where m.ended_at is null and (m.until_at is null or m.until_at > now())
       and m.fingerprint = a.subject ->> 'fingerprint' and (m.source is null or m.source = a.source)
     order by m.id desc limit 1) end as mute`;

type Row = Omit<AlertOut, "runbookUrl" | "evidence"> & {
  ownRunbook: string | null;
  evidence: AlertEvidence | Record<string, never>;
};

type Query = IdPage & { state: string | null; source: string | null; rule: string | null };

/** Alerts, newest first. `runbook` gives the address of a runbook by its name. */
export async function listAlerts(
  db: Queryable,
  viewer: Viewer,
  query: Query,
  runbook: (name: string) => string,
): Promise<AlertList> {
  const states = query.state?.split(",") ?? ["firing", "resolved"];
  const rows = await db.query<Row>(
    `select ${COLUMNS} from alerts a left join alert_rules r on r.id = a.rule_id
      where ${SEEN} and a.state = any($2::text[]) and ($3::uuid is null or a.id < $3) and ($4::text is null or a.source = $4)
        and ($5::uuid is null or a.rule_id = $5)
      order by a.id desc limit $6`,
    [sourceScope(viewer), states, query.cursor, query.source, query.rule, query.limit + 1],
    { isoTimes: true },
  );
  const page = cutPage(rows, query.limit, ({ id }) => id);
  return { items: page.items.map((row) => alertOut(row, runbook)), nextCursor: page.nextCursor };
}

/** Throws DomainError `unknown-alert`. */
export async function readAlert(
  db: Queryable,
  viewer: Viewer,
  id: string,
  runbook: (name: string) => string,
): Promise<AlertOut> {
  const [row] = await db.query<Row>(
    `select ${COLUMNS} from alerts a left join alert_rules r on r.id = a.rule_id where ${SEEN} and a.id = $2`,
    [sourceScope(viewer), id],
    { isoTimes: true },
  );
  if (row) return alertOut(row, runbook);
  throw unknownAlert(id, "id");
}

function unknownAlert(id: string, field: string): DomainError {
  return new DomainError("unknown-alert", `There is no alert ${id}`, {
    fields: [{ field, detail: "list alerts with GET /api/v1/alerts" }],
  });
}

/** Throws DomainError `unknown-alert` for the first that the viewer does not see. */
export async function assertAlertsSeen(db: Queryable, viewer: Viewer, ids: readonly string[]): Promise<void> {
  const rows = await db.query<{ id: string }>(`select a.id from alerts a where ${SEEN} and a.id = any($2::uuid[])`, [
    sourceScope(viewer),
    ids,
  ]);
  const seen = new Set(rows.map(({ id }) => id));
  const missing = ids.findIndex((id) => !seen.has(id));
  if (missing >= 0) throw unknownAlert(ids[missing]!, `ids[${missing}]`);
}

function alertOut({ ownRunbook, evidence, ...row }: Row, runbook: (name: string) => string): AlertOut {
  return {
    ...row,
    runbookUrl: ownRunbook ?? runbook(alertKindOf(row.kind).runbook),
    evidence: evidenceOut(evidence),
  };
}

/** Evaluations run every ten seconds: after this long without one, people must know. */
const LATE_S = 60;

/**
 * Why alerts may be missing, in words for people; null = they are evaluated. It does not depend on an evaluation, so that
 * it works on a store too slow for one. A worker that has just started may still be making its first.
 */
export async function readAlertFault(db: Queryable): Promise<string | null> {
  const minute = `interval '${LATE_S} s'`;
  const [row] = await db.query<{ late: boolean; storedAtMs: number; faults: number }>(
    `select ${isOver("e.stored_at", minute)}
              and exists (select from worker_heartbeats w where ${IS_ALIVE} and ${isOver("w.started_at", minute)}) as late,
            e.stored_at as "storedAtMs",
            (select count(*)::int from alert_rules where enabled and fault is not null) as faults
       from alert_evaluation e`,
    [],
    { name: "alert-fault" },
  );
  const { late, storedAtMs, faults } = row!;
  if (late) return `no alert rule has been evaluated since ${iso(storedAtMs)}: nobody is notified`;
  return faults === 0 ? null : `${plural(faults, "alert rule")} cannot be evaluated in full`;
}

type AlertCounts = { firing: number; unacknowledged: number; worst: Severity | null };

/** For the bell of every page. */
export async function countAlerts(db: Queryable, viewer: Viewer): Promise<AlertCounts> {
  const [row] = await db.query<AlertCounts>(
    `select count(*)::int as firing, count(*) filter (where acknowledged_at is null)::int as unacknowledged,
            (array_agg(severity order by array_position(array['critical', 'warning', 'info'], severity))
               filter (where acknowledged_at is null))[1] as worst
       from alerts a where state = 'firing' and ${SEEN}`,
    [sourceScope(viewer)],
    { name: "count-alerts" },
  );
  return row!;
}
