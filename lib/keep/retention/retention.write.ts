import { RECENT_DAYS } from "@/lib/keep/retention/retention.pure";
import type { Db, Tx } from "@/lib/platform/database/db";

/** Runs are kept for as long as the page of retention lists them. */
const RUNS_KEPT = "90 days";

/** False = the events of this period up to that day were looked at before. Of two workers one waits for the other. */
export async function claimRun(
  tx: Tx,
  run: { source: string | null; errorCode: string | null; beforeMs: number; operationId: string },
): Promise<boolean> {
  const claimed = await tx.run(
    `insert into retention_runs (source, error_code, due_before, operation_id)
     values ($1, $2, to_timestamp($3::float8 / 1000), $4) on conflict do nothing`,
    [run.source ?? "", run.errorCode ?? "", run.beforeMs, run.operationId],
  );
  return claimed === 1;
}

/** Restored events do not expire for RECENT_DAYS from now on, however old they are. */
export async function keepRestored(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.run(
    `insert into restored_events (id, kept_until) select unnest($1::uuid[]), now() + interval '${RECENT_DAYS} days'
     on conflict (id) do update set kept_until = excluded.kept_until`,
    [ids],
    { name: "keep-restored" },
  );
}

/** Removes what no longer counts: restored events whose time is over, and old runs. */
export async function removeEndedRuns(db: Db): Promise<void> {
  await db.run("delete from restored_events where kept_until < now()");
  await db.run(`delete from retention_runs where at < now() - interval '${RUNS_KEPT}'`);
}
