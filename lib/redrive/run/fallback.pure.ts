/** What Parkade does with a send while its target takes no sends. */
export type Fallback =
  | { kind: "defer"; deferMs: number }
  /** The item is sent to the slow lane of the same source. */
  | { kind: "slow-lane" }
  | { kind: "target"; target: string };

/**
 * The decision for an item: send it to its own target (where it waits or is refused), wait and decide again, or send it
 * to the fallback target.
 */
export type Route = { kind: "own" } | { kind: "wait"; waitMs: number } | { kind: "stand-in" };

export type RouteFacts = {
  fallback: Fallback | null;
  /** Id of its own target. */
  own: string;
  /** Its own target takes no sends now. */
  away: boolean;
  /** Without a fallback the item would be refused instead of waiting. */
  refuses: boolean;
  /** The target that the fallback names, and whether that target takes sends; null = there is none. */
  standIn: { id: string; takes: boolean } | null;
  /** The target that the item was sent to in this redrive; null = it was not sent. */
  sentTo: string | null;
  /** The target of the last event of its aggregate that was sent and is not confirmed yet; null = there is none. */
  aggregateSentTo: string | null;
};

/** An item that must use a target which takes no sends now is looked at again after this time. */
const KEEP_MS = 10_000;
/** A retry budget refills over seconds. An item that must not use another target waits this long for it. */
const BUDGET_WAIT_MS = 60_000;

const OWN: Route = { kind: "own" };

/**
 * The target of an item, decided before its send. An item that was sent to a target stays with that target: the first
 * send may have arrived, and another target would receive the event twice. An aggregate stays with the target of its
 * last event until that event is confirmed: two targets deliver in no common order.
 */
export function routeOf({ fallback, own, away, refuses, standIn, sentTo, aggregateSentTo }: RouteFacts): Route {
  if (fallback === null) return OWN;
  if (fallback.kind === "defer") return refuses ? { kind: "wait", waitMs: fallback.deferMs } : OWN;
  const bound = sentTo ?? aggregateSentTo;
  if (standIn !== null && bound === standIn.id)
    return standIn.takes ? { kind: "stand-in" } : { kind: "wait", waitMs: KEEP_MS };
  if (bound === own) return refuses ? { kind: "wait", waitMs: KEEP_MS } : OWN;
  return away && standIn?.takes ? { kind: "stand-in" } : OWN;
}

/**
 * The target of an item when the retry budget of its own target is spent. Another target is allowed only when the send
 * certainly did not arrive and the order of the aggregate cannot break. null = the item fails.
 */
export function budgetRouteOf(
  fallback: Fallback | null,
  { sent, ordered, standInTakes }: { sent: "no" | "maybe"; ordered: boolean; standInTakes: boolean },
): Exclude<Route, { kind: "own" }> | null {
  if (fallback === null) return null;
  if (fallback.kind === "defer") return { kind: "wait", waitMs: fallback.deferMs };
  const elsewhere = sent === "no" && !ordered && standInTakes;
  return elsewhere ? { kind: "stand-in" } : { kind: "wait", waitMs: BUDGET_WAIT_MS };
}
