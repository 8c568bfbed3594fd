import type { Db } from "@/lib/store/db";

/** What a consumer reports of itself. */
export type SourceState = { state: string; lag: number | null; lastError: string | null };

/** Without a word for this long a worker no longer speaks for a source. Consumers report every two seconds. */
const WORD_KEPT_S = 10;

/**
 * Stores the state of a source as one worker sees it. Each worker consumes every source, so one of them speaks for it
 * until it falls silent; another takes over at once only to say that it fails. The time is the store's.
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
