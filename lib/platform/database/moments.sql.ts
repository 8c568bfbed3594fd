/** A transaction that began this much later than the one that reads may have written a moment, seconds. */
const AHEAD_S = 5;

/**
 * SQL: the moment `at` is within the last `interval`. One in the future was written before the clock of the store was set back,
 * and counts as past: else nothing would happen for as long as the step.
 */
export const isWithin = (at: string, interval: string): string =>
  `(${at} > now() - ${interval} and ${at} <= now() + interval '${AHEAD_S} s')`;

/** SQL: the moment `at` is further back than `interval`, or in the future, see `isWithin`. */
export const isOver = (at: string, interval: string): string =>
  `(${at} <= now() - ${interval} or ${at} > now() + interval '${AHEAD_S} s')`;

/** SQL: an interval of that many milliseconds. */
export const ms = (param: string): string => `make_interval(secs => ${param}::float8 / 1000)`;
