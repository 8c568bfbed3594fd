import { RECENT_DAYS } from "@/lib/keep/retention/retention.pure";
import type { Db, Tx } from "@/lib/platform/database/db";
import type { Prisma } from "@/lib/platform/database/generated/client";
import { BULK } from "@/lib/states/state.sql";

/** Runs are kept for as long as the page of retention lists them. */
const RUNS_KEPT = "90 days";

/** `beforeMs`: events of the days before this are due, epoch milliseconds. */
type Run = { source: string | null; errorCode: string | null; beforeMs: number };

const named = ({ source, errorCode }: Run) => [source ?? "", errorCode ?? ""];

/** False = the events up to that day were looked at before, or those of an earlier day still expire. */
export async function isRunOpen(db: Db, run: Run): Promise<boolean> {
  const blocking = await db.query(
    `select 1 from retention_runs r left join bulk_operations o on o.id = r.operation_id
      where r.source = $1 and r.error_code = $2
        and (r.due_before = to_timestamp($3::float8 / 1000) or o.state = ${BULK.RUNNING}) limit 1`,
    [...named(run), run.beforeMs],
  );
  return blocking.length === 0;
}

/** False = another worker was first, for which this one waits. `operationId` null = nothing was due. */
export async function claimRun(tx: Tx, run: Run, operationId: string | null): Promise<boolean> {
  const claimed = await tx.run(
    `insert into retention_runs (source, error_code, due_before, operation_id)
     values ($1, $2, to_timestamp($3::float8 / 1000), $4) on conflict do nothing`,
    [...named(run), run.beforeMs, operationId],
  );
  return claimed === 1;
}

/** Of two changes of the periods one waits for the other. The number is arbitrary. */
export async function lockPeriods(client: Prisma.TransactionClient): Promise<void> {
  await client.$executeRaw`select pg_advisory_xact_lock(7305134)`;
}

/** Each period is looked at again today; one whose events still expire is left out. */
export async function lookAgain(client: Prisma.TransactionClient): Promise<void> {
  await client.$executeRawUnsafe(
    `delete from retention_runs r where r.at > now() - interval '2 days'
        and not exists (select from bulk_operations o where o.id = r.operation_id and o.state = ${BULK.RUNNING})`,
  );
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
