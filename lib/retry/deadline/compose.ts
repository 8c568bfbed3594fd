/** Steps one after the other need the sum of their deadlines. */
export function serialMs(deadlinesMs: readonly number[]): number {
  return deadlinesMs.reduce((sum, ms) => sum + ms, 0);
}

/** Branches side by side need the longest of theirs. 0 for none. */
export function parallelMs(deadlinesMs: readonly number[]): number {
  return deadlinesMs.reduce((longest, ms) => Math.max(longest, ms), 0);
}

/** What a nested operation may still spend: its own deadline, or what is left of the outer one minus its margin. */
export function nestedMs(ownMs: number, outerLeftMs: number, outerMarginMs: number): number {
  return Math.max(0, Math.min(ownMs, outerLeftMs - outerMarginMs));
}
