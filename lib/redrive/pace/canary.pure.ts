type CanaryRule = { steps: number[] };

/** Cumulative sizes of the default steps. After the last step every event may be sent. */
export const CANARY_STEPS = [1, 10, 100];

/**
 * Sets above this size have a canary by default. The brake judges no fewer outcomes, so a canary of a smaller set could
 * only make it slower.
 */
export const CANARY_ABOVE = 10;

/** The counts and times of a redrive that its canary decides from. */
export type CanaryStand = {
  /** The current step; null = every event may be sent. */
  released: number | null;
  delivered: number;
  bounced: number;
  confirmed: number;
  /** Whether the quiet window after the last delivery of the step has begun, and whether it is over. */
  quiet: "not-begun" | "running" | "over";
};

/** `waits`: the step is sent, and no further event may be sent until the events of the step are confirmed. */
export type CanaryMove = { released: number | null; waits: boolean };

/**
 * The state of the canary, decided from the counts. A step of n is passed when n events of the redrive were delivered
 * and have not come back, and each of them is confirmed by its consumer or was quiet for the window. An event that
 * failed, bounced or was refused does not count: the step sends another event in its place. The brake decides how many
 * failures are too many.
 */
export function canaryMove(stand: CanaryStand, rule: CanaryRule): CanaryMove {
  const { released } = stand;
  if (released === null) return { released, waits: false };
  if (stand.delivered - stand.bounced < released) return { released, waits: false };
  if (stand.quiet !== "over" && stand.confirmed < released) return { released, waits: true };
  return { released: stepAfter(released, rule), waits: false };
}

/** The first step above `released` (0 at the start); null = every event may be sent. */
export function stepAfter(released: number, rule: CanaryRule): number | null {
  return rule.steps.find((step) => step > released) ?? null;
}
