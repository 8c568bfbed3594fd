import type { LiveState } from "@/lib/observe/alerts/alert-state.pure";
import type { LiveAlertRow } from "@/lib/observe/alerts/alerts.read";
import type { AlertEvidence } from "@/lib/observe/alerts/alerts.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";

/** Returns the number of the next evaluation. One that is under way is refused at its end. */
export async function beginEvaluation(db: Queryable): Promise<number> {
  const [row] = await db.query<{ generation: number }>(
    "update alert_evaluation set generation = generation + 1 where id = 1 returning generation",
    [],
    { name: "begin-evaluation" },
  );
  return row!.generation;
}

/** Locks the evaluation until the commit. False = a later one was begun: what this one found is of the past. */
export async function holdsEvaluation(tx: Tx, generation: number): Promise<boolean> {
  const [row] = await tx.query<{ generation: number }>(
    "select generation from alert_evaluation where id = 1 for update",
  );
  return row?.generation === generation;
}

export async function endEvaluation(tx: Tx, tookMs: number): Promise<void> {
  await tx.run("update alert_evaluation set stored_at = clock_timestamp(), took_ms = $1 where id = 1", [tookMs]);
}

/** An alert as it is after an evaluation. Times are epoch milliseconds. */
export type AlertChange = Omit<LiveAlertRow, "acknowledged" | "acknowledgedBy" | "state" | "evidence"> & {
  /** Of the rule that was judged. */
  version: number;
  state: LiveState | "resolved";
  threshold: number | null;
  /** null = it stays. */
  evidence: AlertEvidence | null;
};

const PAGE = 1_000;

/**
 * Stores what changed, for rules that still are as they were judged. A row is written only when it says something else: an
 * alert that goes on for days would be written every ten seconds. A person may acknowledge an alert meanwhile: those columns
 * are not touched.
 */
export async function storeAlerts(tx: Tx, changes: readonly AlertChange[], nowMs: number): Promise<void> {
  for (let at = 0; at < changes.length; at += PAGE) {
    await tx.run(
      `with given as (
         select c.* from jsonb_to_recordset($1::jsonb) as c ("id" uuid, "ruleId" uuid, "ruleName" text, "version" int, "kind" text,
                "severity" text, "key" text, "source" text, "subject" jsonb, "state" text, "sinceMs" float8, "firedAtMs" float8,
                "toldFrom" int8, "clearSinceMs" float8, "value" float8, "threshold" float8, "usual" float8, "sentence" text,
                "evidence" jsonb)
           join alert_rules r on r.id = c."ruleId" and r.version = c."version" and r.enabled)
       insert into alerts (id, rule_id, rule_name, kind, severity, key, source, subject, state, since, fired_at, told_from_evaluation,
                           clear_since, resolved_at, resolved_because, value, threshold, usual, sentence, evidence)
       select "id", "ruleId", "ruleName", "kind", "severity", "key", "source", "subject", "state", to_timestamp("sinceMs" / 1000),
              to_timestamp("firedAtMs" / 1000), "toldFrom", to_timestamp("clearSinceMs" / 1000),
              case when "state" = 'resolved' then to_timestamp($2::float8 / 1000) end,
              case when "state" = 'resolved' then 'cleared' end,
              "value", "threshold", "usual", "sentence", coalesce("evidence", '{}')
         from given
       on conflict (id) do update set
         severity = excluded.severity, state = excluded.state, since = excluded.since, fired_at = excluded.fired_at, told_from_evaluation = excluded.told_from_evaluation,
         clear_since = excluded.clear_since, resolved_at = excluded.resolved_at, resolved_because = excluded.resolved_because,
         value = excluded.value, threshold = excluded.threshold, usual = excluded.usual, sentence = excluded.sentence,
         evidence = case when excluded.evidence = '{}' then alerts.evidence else excluded.evidence end
       where alerts.state <> 'resolved'
         and (alerts.severity, alerts.state, alerts.since, alerts.fired_at, alerts.told_from_evaluation, alerts.clear_since, alerts.sentence)
             is distinct from
             (excluded.severity, excluded.state, excluded.since, excluded.fired_at, excluded.told_from_evaluation, excluded.clear_since, excluded.sentence)`,
      [JSON.stringify(changes.slice(at, at + PAGE)), nowMs],
      { name: "store-alerts" },
    );
  }
}

/** Pending ones whose condition holds no more. */
export async function dropAlerts(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run("delete from alerts where id = any($1::uuid[]) and state = 'pending'", [ids]);
}

export async function noteFaults(tx: Tx, faults: readonly { id: string; fault: string | null }[]): Promise<void> {
  if (faults.length === 0) return;
  await tx.run(
    `update alert_rules r set fault = f.fault from unnest($1::uuid[], $2::text[]) f (id, fault) where r.id = f.id`,
    [faults.map(({ id }) => id), faults.map(({ fault }) => fault)],
  );
}

/** Acknowledges firing alerts, or takes that back. Returns the ids that it changed. */
export async function setAcknowledged(
  tx: Tx,
  ids: readonly string[],
  facts: { acknowledged: boolean; actor: string; note: string | null; atMs: number; scope: string[] | null },
): Promise<{ id: string; sentence: string; source: string | null }[]> {
  const { acknowledged, actor, note, atMs, scope } = facts;
  return tx.query(
    `update alerts a set acknowledged_at = case when $2 then to_timestamp($3::float8 / 1000) end,
            acknowledged_by = case when $2 then $4::text end, acknowledge_note = case when $2 then $5::text end
      where a.id = any($1::uuid[]) and a.state = 'firing' and (a.acknowledged_at is null) = $2
        and ($6::text[] is null or a.source = any($6))
      returning a.id, a.sentence, a.source`,
    [ids, acknowledged, atMs, actor, note, scope],
  );
}

const RESOLVED_KEPT = "90 days";
const FAILED_KEPT = "30 days";

/** Removes alerts that ended long ago, and messages that were given up. */
export async function removeOldAlerts(db: Queryable): Promise<void> {
  await db.run(`delete from alerts where state = 'resolved' and resolved_at < now() - interval '${RESOLVED_KEPT}'`);
  await db.run(`delete from alert_outbox where status = 'FAILED' and created_at < now() - interval '${FAILED_KEPT}'`);
  await db.run(`delete from alert_maintenances where until_at < now() - interval '${RESOLVED_KEPT}'`);
}
