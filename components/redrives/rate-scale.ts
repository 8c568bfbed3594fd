/** The slowest rate the slider offers, events per second: one in ten seconds. */
export const RATE_MIN = 0.1;
/** Right end of the slider when the lane sets no limit. */
export const RATE_MAX_UNLIMITED = 1_000;

/** Positions of the slider, 0 to this. */
export const POSITIONS = 100;

/**
 * The rate at a position of a logarithmic slider from RATE_MIN to `max`: the step from 0.5 to 1 matters as much as
 * the one from 50 to 100. Rounded to two digits, so that it reads like a number somebody chose; the ends are exact.
 */
export function rateAt(position: number, max: number): number {
  if (position <= 0) return Math.min(RATE_MIN, max);
  if (position >= POSITIONS) return max;
  return twoDigits(RATE_MIN * (max / RATE_MIN) ** (position / POSITIONS));
}

export function positionOf(rate: number, max: number): number {
  if (max <= RATE_MIN || rate >= max) return POSITIONS;
  if (rate <= RATE_MIN) return 0;
  return Math.round((Math.log(rate / RATE_MIN) / Math.log(max / RATE_MIN)) * POSITIONS);
}

/**
 * The rate after the slider went from `rate` to a position. Low rates lie closer together than two digits can tell: a step
 * of an arrow key would round back to the rate it came from, so it goes on to the next one that differs.
 */
export function stepRate(rate: number, position: number, max: number): number {
  const step = Math.sign(position - positionOf(rate, max));
  let at = position;
  while (step !== 0 && at > 0 && at < POSITIONS && (rateAt(at, max) - rate) * step <= 0) at += step;
  return rateAt(at, max);
}

function twoDigits(rate: number): number {
  return Number(rate.toPrecision(2));
}

/** What a person typed as a rate; null when it is none. */
export function parseRate(text: string): number | null {
  const rate = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && Number.isFinite(rate) && rate > 0 && rate <= 100_000 ? rate : null;
}
