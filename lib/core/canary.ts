export type CanaryRule = { steps: number[] };

/** Cumulative sizes of the steps before everything is released, unless the redrive names its own. */
export const CANARY_STEPS = [1, 10, 100];

/** What a canary knows of its redrive. */
export type CanaryStand = {
  /** The step it is at; null = everything is released. */
  released: number | null;
  delivered: number;
  bounced: number;
  confirmed: number;
  /** Whether the quiet window after the step's last delivery has begun, and is over. */
  quiet: "not-begun" | "running" | "over";
};

/** `waits`: the step is sent and nothing more may go until its events are confirmed. */
export type CanaryMove = { released: number | null; waits: boolean };

/**
 * Where the canary stands after what was counted. A step of n is passed when n events of the redrive were delivered and
 * have not come back: each confirmed by its consumer, or quiet for the window. An event that failed, bounced or was
 * refused proves nothing: the step takes the next one in its place, and how many of them are too many is the brake's.
 */
export function canaryMove(stand: CanaryStand, rule: CanaryRule): CanaryMove {
  const { released } = stand;
  if (released === null) return { released, waits: false };
  if (stand.delivered - stand.bounced < released) return { released, waits: false };
  if (stand.quiet !== "over" && stand.confirmed < released) return { released, waits: true };
  return { released: stepAfter(released, rule), waits: false };
}

/** The first step above `released` (0 at the start), or null for all. */
export function stepAfter(released: number, rule: CanaryRule): number | null {
  return rule.steps.find((step) => step > released) ?? null;
}
