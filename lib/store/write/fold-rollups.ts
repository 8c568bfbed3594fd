import type { Db, Tx } from "@/lib/store/db";
import { CODE_FLOW, DELTA_KINDS, FLOW_KINDS, type FlowTable, GROUP_FLOW } from "@/lib/store/flow-tables";

/** Of one statement, so that a log that grew while no worker lived is folded within the statement's time. */
const FLOW_ROWS_MAX = 50_000;

/**
 * Moves the log of the flow into each of its tables, in one statement: a reader sees a delta in the log or in the tables. A
 * delta that is appended meanwhile stays in the log.
 */
function foldFlow(): string {
  const sums = FLOW_KINDS.map((kind) => `sum(${kind})`).join(", ");
  const added = (table: string) => FLOW_KINDS.map((kind) => `${kind} = ${table}.${kind} + excluded.${kind}`).join(", ");
  const into = ({ table, widthMs }: FlowTable, keys: string) => `
    insert into ${table} (at, ${keys}, ${FLOW_KINDS.join(", ")})
    select date_bin('${widthMs / 1000} s', minute, 'epoch'), ${keys}, ${sums} from moved group by 1, ${keys}
    on conflict (at, ${keys}) do update set ${added(table)}`;
  const inserts = [
    ...CODE_FLOW.map((table) => into(table, "source_id, error_code")),
    ...GROUP_FLOW.map((table) => into(table, "source_id, error_code, fingerprint")),
  ];
  const parts = inserts.map((insert, index) => `, into_${index} as (${insert})`);
  return `with gone as (
      delete from dlq_flow where ctid = any(array(select ctid from dlq_flow limit ${FLOW_ROWS_MAX})) returning *),
    moved as (select minute, source_id, error_code, fingerprint, ${DELTA_KINDS} from gone)${parts.join("")}
    select count(*)::int as n from gone`;
}

/**
 * Folds appended deltas into one row each: delete and insert in one statement, so that a reader sees either and a delta
 * appended meanwhile is not touched.
 */
const FOLDS = [
  fold("dlq_levels", ["source_id", "error_code", "status", "hour"]),
  fold("dlq_group_levels", ["fingerprint", "source_id", "status"]),
];

/** SQL. A row that stands alone stays as it is: where nothing was appended, nothing is written. */
function fold(table: string, key: readonly string[]): string {
  const columns = key.join(", ");
  return `with appended as materialized (
     select ${columns} from ${table} group by ${columns} having count(*) > 1
   ), gone as (
     delete from ${table} t using appended a where ${key.map((name) => `t.${name} = a.${name}`).join(" and ")} returning t.*
   )
   insert into ${table} (${columns}, n)
   select ${columns}, sum(n) from gone group by ${columns} having sum(n) <> 0`;
}

/** Only one folder at a time: two would wait for each other's rows. Any constant of our own. */
const FOLD_LOCK = 7_305_102;

const FOLD_FLOW = foldFlow();

/** Folds all rollups. False = somebody else folds right now. */
export async function foldRollups(db: Db): Promise<boolean> {
  const folded = await alone(db, async (tx) => {
    for (const fold of FOLDS) await tx.run(fold);
    return foldFlowOnce(tx);
  });
  for (let moved = folded; moved === FLOW_ROWS_MAX; ) moved = await alone(db, foldFlowOnce);
  return folded !== null;
}

async function foldFlowOnce(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ n: number }>(FOLD_FLOW);
  return row!.n;
}

function alone(db: Db, fold: (tx: Tx) => Promise<number>): Promise<number | null> {
  return db.transaction(
    async (tx) => {
      const [row] = await tx.query<{ ours: boolean }>("select pg_try_advisory_xact_lock($1) as ours", [FOLD_LOCK]);
      return row!.ours ? fold(tx) : null;
    },
    { statementTimeoutMs: 60_000 },
  );
}
