/** What a store remembers of a key. `fence` grows with every claim, so that a holder that has lost it is recognised. */
export type ClaimEntry<R> =
  | { state: "claimed"; fence: number; leaseUntilMs: number; expiresMs: number }
  | { state: "done"; fence: number; result: R; expiresMs: number };

export type ClaimTimes = {
  /** How long a key is remembered from its first claim, and from its result. The store's TTL. */
  windowMs: number;
  /** How long a holder may be silent before somebody else may claim. */
  leaseMs: number;
};

export type Claim<R> =
  | { kind: "claimed"; fence: number }
  /** Somebody else is at it. */
  | { kind: "in-progress"; untilMs: number }
  /** It has been done: answer with this. */
  | { kind: "done"; result: R };

/**
 * What a claim of `key` at `nowMs` comes to. Pure: a store reads its entry, decides, and writes `entry` atomically.
 * An expired entry is as good as none, except that its fence goes on counting where the store still has it.
 */
export function decideClaim<R>(
  entry: ClaimEntry<R> | null,
  times: ClaimTimes,
  nowMs: number,
): { claim: Claim<R>; entry: ClaimEntry<R> | null } {
  const alive = entry !== null && nowMs < entry.expiresMs;
  if (alive && entry.state === "done") return { claim: { kind: "done", result: entry.result }, entry };
  if (alive && entry.state === "claimed" && nowMs < entry.leaseUntilMs) {
    return { claim: { kind: "in-progress", untilMs: entry.leaseUntilMs }, entry };
  }
  const fence = (entry?.fence ?? 0) + 1;
  const claimed = {
    state: "claimed",
    fence,
    leaseUntilMs: nowMs + times.leaseMs,
    expiresMs: nowMs + times.windowMs,
  } as const;
  return { claim: { kind: "claimed", fence }, entry: claimed };
}

/** Whether a holder of `fence` may still write: nobody has claimed after it. */
export function holdsClaim<R>(entry: ClaimEntry<R> | null, fence: number): boolean {
  return entry !== null && entry.state === "claimed" && entry.fence === fence;
}

/**
 * What is wrong with a deduplication window; empty when nothing is. A duplicate may arrive as late as the reordering
 * span allows, so a shorter window lets it through; a store that forgets earlier or later than the window says makes
 * the window a lie.
 */
export function windowProblems(windowMs: number, facts: { reorderSpanMs: number; storeTtlMs: number }): string[] {
  const problems: string[] = [];
  if (windowMs < facts.reorderSpanMs) {
    problems.push(`windowMs = ${windowMs} must be >= reorderSpanMs = ${facts.reorderSpanMs}`);
  }
  if (windowMs !== facts.storeTtlMs)
    problems.push(`windowMs = ${windowMs} must equal storeTtlMs = ${facts.storeTtlMs}`);
  return problems;
}
