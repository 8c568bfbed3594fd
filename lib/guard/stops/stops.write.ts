import type { Tx } from "@/lib/platform/database/db";

/** Of a target, or of everything. */
export type StopScope = { targetId: string | null };

const scopeOf = ({ targetId }: StopScope): string => targetId ?? "everything";

/** Puts a stop in force. False = one is in force already: it stays as it is. */
export async function insertStop(
  tx: Tx,
  stop: StopScope & { reason: string; actor: string; atMs: number },
): Promise<boolean> {
  const written = await tx.run(
    `insert into stops (scope, target_id, reason, created_by, created_at)
     values ($1, $2, $3, $4, to_timestamp($5::float8 / 1000))
     on conflict (scope) do update
        set reason = excluded.reason, created_by = excluded.created_by, created_at = excluded.created_at, lifted_at = null
      where stops.lifted_at is not null`,
    [scopeOf(stop), stop.targetId, stop.reason, stop.actor, stop.atMs],
  );
  return written === 1;
}

/** Ends a stop. The row stays: the sends begin slowly from `lifted_at` on. null = none is in force. */
export async function liftStop(
  tx: Tx,
  scope: StopScope,
  atMs: number,
): Promise<{ reason: string; createdBy: string } | null> {
  const [row] = await tx.query<{ reason: string; createdBy: string }>(
    `update stops set lifted_at = to_timestamp($2::float8 / 1000) where scope = $1 and lifted_at is null
     returning reason, created_by as "createdBy"`,
    [scopeOf(scope), atMs],
  );
  return row ?? null;
}
