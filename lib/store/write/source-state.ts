import type { Db } from "@/lib/store/db";

/** What a consumer reports of itself; the newest word stands. */
export type SourceState = { state: string; lag: number | null; lastError: string | null; at: string };

export async function writeSourceState(db: Db, sourceId: string, state: SourceState): Promise<void> {
  await db.run("update sources set state = $2::jsonb where id = $1", [sourceId, JSON.stringify(state)], {
    name: "source-state",
  });
}
