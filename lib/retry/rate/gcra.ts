/**
 * Generic cell rate algorithm: one number, the theoretical arrival time, is the whole state.
 * `burst` cells may come at once beyond the first; after that one each `emissionMs`.
 * Source: ITU-T I.371 annex A; results in the shape of redis-cell.
 */
export type GcraPolicy = { burst: number; emissionMs: number };

/** The theoretical arrival time in ms of the deciding clock; null before the first cell. */
export type GcraState = number | null;

export type GcraResult = {
  state: GcraState;
  limited: boolean;
  /** Cells that would be let through now. */
  remaining: number;
  /** Until the full burst is there again. */
  resetMs: number;
  /** Until this many cells would be let through; null when they were, or never will be. */
  retryMs: number | null;
};

/**
 * Lets `cells` through at `nowMs`, or none of them. 0 cells only look. Throws RangeError for a policy that would limit
 * nothing, or by no number.
 */
export function gcra(policy: GcraPolicy, state: GcraState, cells: number, nowMs: number): GcraResult {
  assertPolicy(policy);
  const limit = policy.burst + 1;
  const toleranceMs = policy.emissionMs * limit;
  const arrivalMs = Math.max(state ?? nowMs, nowMs);
  const nextMs = arrivalMs + cells * policy.emissionMs;
  const limited = nextMs - toleranceMs > nowMs;
  const keptMs = limited ? arrivalMs : nextMs;
  return {
    state: limited ? state : nextMs,
    limited,
    remaining: Math.floor((toleranceMs - (keptMs - nowMs)) / policy.emissionMs),
    resetMs: keptMs - nowMs,
    retryMs: limited && cells <= limit ? nextMs - toleranceMs - nowMs : null,
  };
}

function assertPolicy({ burst, emissionMs }: GcraPolicy): void {
  if (!(emissionMs > 0 && emissionMs < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`emissionMs ${emissionMs} is not above 0 and finite`);
  }
  if (!(burst >= 0 && burst < Number.POSITIVE_INFINITY))
    throw new RangeError(`burst ${burst} is not 0 or more and finite`);
}
