/** Seconds by which a written time may be ahead: its transaction may have begun this much later than the reading one. */
const AHEAD_S = 5;

/**
 * SQL: the time `at` is within the last `interval`. A time in the future was written before the clock of the store was set back
 * and counts as past: otherwise nothing would happen for as long as the step.
 */
export const isWithin = (at: string, interval: string): string =>
  `(${at} > now() - ${interval} and ${at} <= now() + interval '${AHEAD_S} s')`;

/** SQL: the time `at` is longer ago than `interval`, or in the future, see `isWithin`. */
export const isOver = (at: string, interval: string): string =>
  `(${at} <= now() - ${interval} or ${at} > now() + interval '${AHEAD_S} s')`;

/** SQL: an interval of that many milliseconds. */
export const ms = (param: string): string => `make_interval(secs => ${param}::float8 / 1000)`;
