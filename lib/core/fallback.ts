/** What becomes of a send while its target takes none. */
export type Fallback =
  | { kind: "defer"; deferMs: number }
  /** To the slow lane of the same source. */
  | { kind: "slow-lane" }
  | { kind: "target"; target: string };

/** Where an item goes: to its own target (where it waits or is refused), nowhere yet, or to the target that stands in. */
export type Route = { kind: "own" } | { kind: "wait"; waitMs: number } | { kind: "stand-in" };

export type RouteFacts = {
  fallback: Fallback | null;
  /** Name of its own target. */
  own: string;
  /** Its own target takes nothing now. */
  away: boolean;
  /** Without a fallback it would be refused for that, and not wait. */
  refuses: boolean;
  /** The target that the fallback names, and whether it takes sends; null = there is none. */
  standIn: { name: string; takes: boolean } | null;
  /** Where the item itself was sent to in this redrive; null = it was not. */
  sentTo: string | null;
  /** Where the last event of its aggregate was sent to that is not confirmed yet; null = there is none. */
  aggregateSentTo: string | null;
};

/** An item that must keep to a target that takes nothing is looked at again after this long. */
const KEEP_MS = 10_000;
/** Retry budgets earn their retries over seconds: an item that must not go elsewhere waits this long for them. */
const BUDGET_WAIT_MS = 60_000;

const OWN: Route = { kind: "own" };

/**
 * Where an item goes before its send. An item that was sent to a target keeps to it: it may have arrived there, and the
 * other target would get it twice. And an aggregate keeps to the target of its last event until that is confirmed: two
 * targets hand out what they got in no common order.
 */
export function routeOf({ fallback, own, away, refuses, standIn, sentTo, aggregateSentTo }: RouteFacts): Route {
  if (fallback === null) return OWN;
  if (fallback.kind === "defer") return refuses ? { kind: "wait", waitMs: fallback.deferMs } : OWN;
  const bound = sentTo ?? aggregateSentTo;
  if (standIn !== null && bound === standIn.name)
    return standIn.takes ? { kind: "stand-in" } : { kind: "wait", waitMs: KEEP_MS };
  if (bound === own) return refuses ? { kind: "wait", waitMs: KEEP_MS } : OWN;
  return away && standIn?.takes ? { kind: "stand-in" } : OWN;
}

/**
 * Where an item goes when the retry budget of its target is spent. Only what certainly did not arrive may go elsewhere, and
 * only when no order can be broken by it. null = it fails.
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
