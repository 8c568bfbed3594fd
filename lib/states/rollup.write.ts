import type { Tx } from "@/lib/platform/database/db";
import { EVENT_MOVES, type EventMove } from "@/lib/states/event-state.pure";
import { flowOf } from "@/lib/states/flow.pure";
import { EVENT } from "@/lib/states/state.sql";

/** Part of the statement that changes events, so that no change commits without its counters. Writes deltas; the janitor folds them. */

type RollupOptions = {
  /** Counts each row once for each of its `kinds` (SQL over `from` that yields a text[], see `flowSql`), in the minute of `at`. */
  flow?: { kinds: string; at: string };
  /** The rows also have `old_error_code` and `old_fingerprint`: the event changed its group. */
  regrouped?: boolean;
};

/**
 * CTEs to put after the CTE `from`, starting with a comma:
 *
 *     with moved as (update ... returning ...) ${rollupOf("moved", ...)} select count(*) from moved
 *
 * `from` has a row for each event with `source_id, error_code, fingerprint, first_seen, old_status, new_status`;
 * `old_status` null = newly parked, `new_status` null = removed. The two may be equal: then only the flow counts.
 */
export function rollupOf(from: string, { flow, regrouped }: RollupOptions = {}): string {
  const [oldCode, oldFingerprint] = regrouped ? ["old_error_code", "old_fingerprint"] : ["error_code", "fingerprint"];
  // Rows are many and few of them differ here: summed up once, then split.
  const levels = `, ${from}_sums as materialized (
    select source_id, error_code, fingerprint, old_status, new_status, ${oldCode} as old_code, ${oldFingerprint} as old_print,
           date_trunc('hour', first_seen, 'UTC') as hour, ${flow?.kinds ?? "null::text[]"} as kinds, count(*) as n
      from ${from} group by 1, 2, 3, 4, 5, 6, 7, 8, 9
  ), ${from}_levels as (
    insert into dlq_levels (source_id, error_code, status, hour, n)
    select source_id, code, status, hour, sum(n) from (
      select source_id, old_code as code, old_status as status, hour, -n as n from ${from}_sums
      union all select source_id, error_code, new_status, hour, n from ${from}_sums) delta
     where status is not null group by 1, 2, 3, 4 having sum(n) <> 0
  ), ${from}_group_levels as (
    insert into dlq_group_levels (fingerprint, source_id, status, n)
    select print, source_id, status, sum(n) from (
      select old_print as print, source_id, old_status as status, -n as n from ${from}_sums
      union all select fingerprint, source_id, new_status, n from ${from}_sums) delta
     where status is not null group by 1, 2, 3 having sum(n) <> 0
  )`;
  if (!flow) return levels;
  return `${levels}, ${from}_flow as (
    insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
    select date_trunc('minute', ${flow.at}, 'UTC'), source_id, error_code, fingerprint, kind, sum(n)
      from ${from}_sums cross join lateral unnest(kinds) as kind group by source_id, error_code, fingerprint, kind
  )`;
}

/** SQL of the kinds that a move counts, over `old_status`. */
export function flowSql(move: EventMove): string {
  const kinds = EVENT_MOVES[move].from.map((from) => `when ${EVENT[from]} then '{${flowOf(move, from)}}'`);
  return `(case old_status ${kinds.join(" ")} end)::text[]`;
}

/** Only one process folds, or moves the rollups of a group, at a time: two would wait for each other's rows. The number is arbitrary. */
const FOLD_LOCK = 7_305_102;

/** Whether this transaction holds the lock on folded rollups until it ends. */
export async function holdsRollups(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ ours: boolean }>("select pg_try_advisory_xact_lock($1) as ours", [FOLD_LOCK]);
  return row!.ours;
}
