/**
 * An alert begins `pending` in the first evaluation in which its condition holds, and is `firing` when it has held for the
 * rule's `forMs` (at once, where that is 0). A pending one whose condition does not hold any more is forgotten. A firing
 * one is `resolved` when its condition has not held for `clearMs`; that ends it. An acknowledged alert goes on firing and
 * is not sent again.
 */
export type LiveState = "pending" | "firing";

/** Times are epoch milliseconds. `clearSinceMs`: the condition holds no more since then; null = it holds. */
export type LiveAlert = { state: LiveState; sinceMs: number; clearSinceMs: number | null };

type AlertStep =
  | { to: "none" | "dropped" | "resolved" }
  | { to: LiveState; sinceMs: number; clearSinceMs: number | null; fires: boolean };

type AlertTimes = { forMs: number; clearMs: number };

/** The next state of an alert. `live` null = there is none. */
export function nextStep(live: LiveAlert | null, holds: boolean, times: AlertTimes, nowMs: number): AlertStep {
  if (live === null) return holds ? begun(nowMs, times, nowMs) : { to: "none" };
  // A time in the future is from before the clock was set back: the hold starts now, so it ends no later than intended.
  if (live.state === "pending") return holds ? begun(Math.min(live.sinceMs, nowMs), times, nowMs) : { to: "dropped" };
  if (holds) return { to: "firing", sinceMs: live.sinceMs, clearSinceMs: null, fires: false };
  const clearSinceMs = Math.min(live.clearSinceMs ?? nowMs, nowMs);
  if (nowMs - clearSinceMs >= times.clearMs) return { to: "resolved" };
  return { to: "firing", sinceMs: live.sinceMs, clearSinceMs, fires: false };
}

function begun(sinceMs: number, { forMs }: AlertTimes, nowMs: number): AlertStep {
  const fires = nowMs - sinceMs >= forMs;
  return { to: fires ? "firing" : "pending", sinceMs, clearSinceMs: null, fires };
}
