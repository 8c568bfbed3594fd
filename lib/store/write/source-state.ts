import type { Db } from "@/lib/store/db";

/** The report of a consumer about its source. */
export type SourceState = { state: string; lag: number | null; lastError: string | null };

/** After this time without a report a worker no longer reports for a source. Consumers report every two seconds. */
const WORD_KEPT_S = 10;

/**
 * Stores the state of a source as one worker sees it. Each worker consumes every source, so only one of them reports it
 * until it falls silent; another worker replaces it at once only to report a failure. The time is the store's.
 */
export async function writeSourceState(
  db: Db,
  sourceId: string,
  { worker, state }: { worker: string; state: SourceState },
): Promise<void> {
  await db.run(
    `update sources
        set state = $2::jsonb || jsonb_build_object('worker', $3::text, 'at',
              to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      where id = $1
        and (state is null or state->>'worker' is null or state->>'worker' = $3
             or (state->>'at')::timestamptz < now() - interval '${WORD_KEPT_S} s'
             or ($4::boolean and state->>'state' <> 'failing'))`,
    [sourceId, JSON.stringify(state), worker, state.state === "failing"],
    { name: "source-state" },
  );
}
