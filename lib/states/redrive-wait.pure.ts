/** What a frozen redrive waits for, as its row and the live workers say. Times in epoch milliseconds. */
export type WaitFacts = {
  awaitsApproval: boolean;
  /** When nobody has answered by then, the approval expires; null = no approval is asked for. */
  approvalUntilMs: number | null;
  /** It may start at this time; null = it waits for none. */
  startAtMs: number | null;
  /** It waits until the breakers of its targets close, at most until then; null = it waits for none. */
  breakerUntilMs: number | null;
  /** Targets of its open items whose breakers let nothing through now; null = unknown, because no worker is alive. */
  openBreakers: readonly string[] | null;
  nowMs: number;
};

export const WAITS = ["approval", "time", "breaker"] as const;
/** `untilMs`: when the wait ends by itself: by a start for a time, by a cancellation for an approval or a breaker. */
export type Wait = { for: (typeof WAITS)[number]; untilMs: number | null };

/**
 * What a redrive still waits for; empty = it starts. It is PLANNED meanwhile: its manifest is frozen, its events are
 * QUEUED, and nothing of it is sent. The hold after a request is no wait of this kind: a held redrive has started.
 */
export function waitsOf(facts: WaitFacts): Wait[] {
  const waits: Wait[] = [];
  if (facts.awaitsApproval) waits.push({ for: "approval", untilMs: facts.approvalUntilMs });
  if (facts.startAtMs !== null && facts.startAtMs > facts.nowMs) waits.push({ for: "time", untilMs: facts.startAtMs });
  if (facts.breakerUntilMs !== null && facts.openBreakers?.length !== 0) {
    waits.push({ for: "breaker", untilMs: facts.breakerUntilMs });
  }
  return waits;
}

/** The longest time between the request of a redrive and its start: its events can be edited by nobody meanwhile. */
export const START_AHEAD_MS_MAX = 30 * 86_400_000;
/** How long a redrive waits for a breaker when the request names no end. */
export const BREAKER_WAIT_MS = 86_400_000;
