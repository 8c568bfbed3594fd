import type { Db } from "@/lib/store/db";

/**
 * Folds appended deltas into one row each: delete and insert in one statement, so that a reader sees either and a delta
 * appended meanwhile is not touched. Of the flow only the last two hours are folded; what is older was folded then and is
 * rolled up by the hour.
 */
const FOLDS = [
  `with gone as (delete from dlq_levels returning *)
   insert into dlq_levels (source_id, error_code, status, hour, n)
   select source_id, error_code, status, hour, sum(n) from gone
    group by source_id, error_code, status, hour having sum(n) <> 0`,
  `with gone as (delete from dlq_group_levels returning *)
   insert into dlq_group_levels (fingerprint, source_id, status, n)
   select fingerprint, source_id, status, sum(n) from gone
    group by fingerprint, source_id, status having sum(n) <> 0`,
  `with gone as (
     delete from dlq_flow where ctid in (
       select ctid from (
         select ctid, count(*) over (partition by minute, source_id, error_code, fingerprint, kind) as n
           from dlq_flow where minute > now() - interval '2 hours') recent
        where n > 1)
     returning *)
   insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
   select minute, source_id, error_code, fingerprint, kind, sum(n) from gone
    group by minute, source_id, error_code, fingerprint, kind`,
  // Minutes that the statement above does not look at any more. Bounded: the first round after an upgrade has them all.
  `with rolled as (
     update dlq_flow set rolled = true where ctid in (
       select ctid from dlq_flow where not rolled and minute < date_trunc('hour', now() - interval '2 hours', 'UTC')
        order by minute limit 100000)
     returning *),
   hours as (
     insert into dlq_flow_hours (hour, source_id, error_code, kind, n)
     select date_trunc('hour', minute, 'UTC'), source_id, error_code, kind, sum(n) from rolled group by 1, 2, 3, 4)
   insert into dlq_group_flow_hours (hour, source_id, fingerprint, n)
   select date_trunc('hour', minute, 'UTC'), source_id, fingerprint, sum(n) from rolled
    where kind in ('parked', 'bounced') group by 1, 2, 3`,
];

/** Only one folder at a time: two would wait for each other's rows. Any constant of our own. */
const FOLD_LOCK = 7_305_102;

/** Folds all rollups. False = somebody else folds right now. */
export async function foldRollups(db: Db): Promise<boolean> {
  return db.transaction(
    async (tx) => {
      const [row] = await tx.query<{ ours: boolean }>("select pg_try_advisory_xact_lock($1) as ours", [FOLD_LOCK]);
      if (!row!.ours) return false;
      for (const fold of FOLDS) await tx.run(fold);
      return true;
    },
    { statementTimeoutMs: 60_000 },
  );
}
