/** An explicit list of delays; past its end the last one repeats. */
export type LadderBackoff = { kind: "ladder"; stepsMs: readonly number[] };

/** Milliseconds before retry `retry` (1-based), before jitter. An empty ladder waits 0 ms; validation refuses it. */
export function ladderMs(backoff: LadderBackoff, retry: number): number {
  return backoff.stepsMs[Math.min(retry, backoff.stepsMs.length) - 1] ?? 0;
}
