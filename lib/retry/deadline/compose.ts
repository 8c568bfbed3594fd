/** A step of a composed operation: one with a deadline of its own, steps one after the other, or steps side by side. */
export type Step = number | { serial: readonly Step[] } | { parallel: readonly Step[] };

/**
 * The deadline (ms) that steps need together: serial steps add their deadlines up, of parallel ones the longest counts. No steps need
 * no time. Throws RangeError for a deadline that is not a number of milliseconds from 0 up: a sum with NaN would never end.
 */
export function composedDeadlineMs(step: Step): number {
  if (typeof step === "number") {
    if (!(step >= 0)) throw new RangeError(`a deadline is ${step}, must be milliseconds from 0 up`);
    return step;
  }
  if ("serial" in step) return step.serial.reduce<number>((sum, each) => sum + composedDeadlineMs(each), 0);
  return step.parallel.reduce<number>((longest, each) => Math.max(longest, composedDeadlineMs(each)), 0);
}
