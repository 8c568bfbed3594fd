import { EVENT_MOVES, type EventMove } from "@/lib/core/event-state";
import { flowOf } from "@/lib/core/flow";
import { EVENT } from "@/lib/store/state-sql";

/**
 * SQL that keeps the rollups exact: appended to the very statement that changes events, so that no change can be
 * committed without its counters. Deltas only; the janitor folds them.
 */

export type RollupOptions = {
  /**
   * Counts each row in the flow of the minute of `at` (SQL of type timestamptz), once for each of its kinds: `kinds` is
   * SQL over `from` that yields a text[], see `flowSql`.
   */
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
export function rollupOf(from: string, options: RollupOptions = {}): string {
  const [oldCode, oldFingerprint] = options.regrouped
    ? ["old_error_code", "old_fingerprint"]
    : ["error_code", "fingerprint"];
  const levels = `, ${from}_levels as (
    insert into dlq_levels (source_id, error_code, status, hour, n)
    select source_id, error_code, status, hour, sum(n) from (
      select source_id, ${oldCode} as error_code, old_status as status,
             date_trunc('hour', first_seen, 'UTC') as hour, -1 as n from ${from} where old_status is not null
      union all
      select source_id, error_code, new_status, date_trunc('hour', first_seen, 'UTC'), 1
        from ${from} where new_status is not null
    ) delta group by source_id, error_code, status, hour having sum(n) <> 0
  ), ${from}_group_levels as (
    insert into dlq_group_levels (fingerprint, source_id, status, n)
    select fingerprint, source_id, status, sum(n) from (
      select ${oldFingerprint} as fingerprint, source_id, old_status as status, -1 as n
        from ${from} where old_status is not null
      union all
      select fingerprint, source_id, new_status, 1 from ${from} where new_status is not null
    ) delta group by fingerprint, source_id, status having sum(n) <> 0
  )`;
  return options.flow ? levels + insertFlow(from, options.flow) : levels;
}

/** SQL of the kinds that a move counts, over `old_status`. */
export function flowSql(move: EventMove): string {
  const kinds = EVENT_MOVES[move].from.map((from) => `when ${EVENT[from]} then '{${flowOf(move, from)}}'`);
  return `(case old_status ${kinds.join(" ")} end)::text[]`;
}

function insertFlow(from: string, { kinds, at }: NonNullable<RollupOptions["flow"]>): string {
  return `, ${from}_flow as (
    insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
    select date_trunc('minute', ${at}, 'UTC'), source_id, error_code, fingerprint, kind, count(*)
      from ${from} cross join lateral unnest(${kinds}) as kind group by source_id, error_code, fingerprint, kind
  )`;
}
