import { FOLD_ADMISSION } from "@/lib/intake/admission/admission.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import type { FlowKind } from "@/lib/states/flow.pure";
import {
  ARRIVAL_KINDS,
  CODE_FLOW,
  DELTA_KINDS,
  FLOW_KINDS,
  type FlowTable,
  GROUP_ARRIVALS,
  GROUP_FLOW,
  SOURCE_FLOW,
  UNGROUPED_KINDS,
} from "@/lib/states/flow-tables.sql";
import { holdsRollups } from "@/lib/states/rollup.write";

/** Rows of one statement, so that a log that grew while no worker lived is folded within the statement's time limit. */
const ROWS_MAX = 50_000;

/**
 * Moves the log of the flow into each of its tables, in one statement: a reader sees a delta either in the log or in
 * the tables. A delta that is appended meanwhile stays in the log. New rows are in order of time, so that a window lies in few pages.
 */
function foldFlow(): string {
  const into = ({ table, widthMs }: FlowTable, keys: string, of = "", kinds: readonly FlowKind[] = FLOW_KINDS) => `
    insert into ${table} (at, ${keys}, ${kinds.join(", ")})
    select date_bin('${widthMs / 1000} s', minute, 'epoch'), ${keys}, ${kinds.map((kind) => `sum(${kind})`).join(", ")}
      from moved ${of} group by 1, ${keys} order by 1
    on conflict (at, ${keys}) do update set ${kinds.map((kind) => `${kind} = ${table}.${kind} + excluded.${kind}`).join(", ")}`;
  const grouped = `where ${UNGROUPED_KINDS.join(" + ")} = 0`;
  const arrived = `where ${ARRIVAL_KINDS.join(" + ")} > 0`;
  const inserts = [
    ...SOURCE_FLOW.map((table) => into(table, "source_id")),
    ...CODE_FLOW.map((table) => into(table, "source_id, error_code")),
    ...GROUP_FLOW.map((table) => into(table, "source_id, error_code, fingerprint", grouped)),
    ...GROUP_ARRIVALS.map((table) => into(table, "fingerprint", arrived, ARRIVAL_KINDS)),
  ];
  const parts = inserts.map((insert, index) => `, into_${index} as (${insert})`);
  return `with gone as (
      delete from dlq_flow where ctid = any(array(select ctid from dlq_flow limit ${ROWS_MAX})) returning *),
    moved as (select minute, source_id, error_code, fingerprint, ${DELTA_KINDS} from gone)${parts.join("")}
    select count(*)::int as n from gone`;
}

/** Moves the log of the levels into totals and hours; `emptied` are the hours with a level that became zero. */
const FOLD_LEVELS = `
  with gone as (
    delete from dlq_levels where ctid = any(array(select ctid from dlq_levels limit ${ROWS_MAX})) returning *),
  totals as (
    insert into dlq_level_totals (source_id, error_code, status, n)
    select source_id, error_code, status, sum(n) from gone group by source_id, error_code, status
    on conflict (source_id, error_code, status) do update set n = dlq_level_totals.n + excluded.n),
  hours as (
    insert into dlq_level_hours (hour, source_id, error_code, status, n)
    select hour, source_id, error_code, status, sum(n) from gone group by hour, source_id, error_code, status
    having sum(n) <> 0
    on conflict (hour, source_id, error_code, status) do update set n = dlq_level_hours.n + excluded.n
    returning hour, n),
  source_hours as (
    insert into dlq_source_level_hours (hour, source_id, status, n)
    select hour, source_id, status, sum(n) from gone group by hour, source_id, status having sum(n) <> 0
    on conflict (hour, source_id, status) do update set n = dlq_source_level_hours.n + excluded.n
    returning hour, n)
  select (select count(*)::int from gone) as n,
         array(select hour::text from hours where n = 0 union select hour::text from source_hours where n = 0) as emptied`;

/** Folds the groups that have several rows, or whose rows sum to zero. */
const FOLD_GROUP_LEVELS = `
  with several as (
    select fingerprint, source_id, status from dlq_group_levels group by fingerprint, source_id, status
    having count(*) > 1 or sum(n) = 0),
  gone as (
    delete from dlq_group_levels l using several s
     where (l.fingerprint, l.source_id, l.status) = (s.fingerprint, s.source_id, s.status) returning l.*)
  insert into dlq_group_levels (fingerprint, source_id, status, n)
  select fingerprint, source_id, status, sum(n) from gone group by fingerprint, source_id, status having sum(n) <> 0`;

const FOLD_FLOW = foldFlow();

/** Folds all rollups. Without new deltas it writes nothing. False = another process folds now. */
export async function foldRollups(db: Db): Promise<boolean> {
  let rest = await alone(db, async (tx) => {
    await tx.run(FOLD_GROUP_LEVELS);
    await tx.run(FOLD_ADMISSION);
    return foldLogs(tx);
  });
  const folded = rest !== null;
  while (rest === ROWS_MAX) rest = await alone(db, foldLogs);
  return folded;
}

/** Rows that the fuller of the two logs had, ROWS_MAX at the most. */
async function foldLogs(tx: Tx): Promise<number> {
  const [levels] = await tx.query<{ n: number; emptied: string[] }>(FOLD_LEVELS);
  if (levels!.emptied.length > 0) {
    for (const table of ["dlq_level_hours", "dlq_source_level_hours"]) {
      await tx.run(`delete from ${table} where n = 0 and hour = any($1::timestamptz[])`, [levels!.emptied]);
    }
  }
  const [flow] = await tx.query<{ n: number }>(FOLD_FLOW);
  return Math.max(levels!.n, flow!.n);
}

function alone(db: Db, fold: (tx: Tx) => Promise<number>): Promise<number | null> {
  return db.transaction(async (tx) => ((await holdsRollups(tx)) ? fold(tx) : null), { statementTimeoutMs: 60_000 });
}
