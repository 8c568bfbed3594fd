import { followLines } from "@/lib/order/lines.write";
import type { Tx } from "@/lib/platform/database/db";

type SkippableEvent = { id: string; revision: number; bounces: number };

/** The event must be locked by this transaction. A skip of an earlier state of the event is replaced. */
export async function insertSkip(
  tx: Tx,
  { id, revision, bounces }: SkippableEvent,
  by: { reason: string; actor: string; atMs: number },
): Promise<void> {
  await tx.run(
    `insert into skipped_heads (id, revision, bounces, reason, created_by, created_at)
     values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000))
     on conflict (id) do update
        set revision = excluded.revision, bounces = excluded.bounces, reason = excluded.reason,
            created_by = excluded.created_by, created_at = excluded.created_at`,
    [id, revision, bounces, by.reason, by.actor, by.atMs],
  );
  await followLines(tx, [id]);
}

/** Lets the events, which must be locked by this transaction, hold their aggregates again. */
export async function deleteSkips(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run("delete from skipped_heads where id = any($1::uuid[])", [ids], { name: "delete-skips" });
  await followLines(tx, ids);
}
