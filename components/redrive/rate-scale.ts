/** The slowest rate of the slider, events per second: one in ten seconds. */
export const RATE_MIN = 0.1;
/** The right end of the slider when the lane has no limit. */
export const RATE_MAX_UNLIMITED = 1_000;

/** The positions of the slider are 0 to this number. */
export const POSITIONS = 100;

/**
 * The rate at a position of a logarithmic slider from RATE_MIN to `max`: the step from 0.5 to 1 is as long as the step
 * from 50 to 100. Rounded to two digits, and never above `max`; the ends are exact.
 */
export function rateAt(position: number, max: number): number {
  if (position <= 0) return Math.min(RATE_MIN, max);
  if (position >= POSITIONS) return max;
  return Math.min(max, Number((RATE_MIN * (max / RATE_MIN) ** (position / POSITIONS)).toPrecision(2)));
}

export function positionOf(rate: number, max: number): number {
  if (max <= RATE_MIN || rate >= max) return POSITIONS;
  if (rate <= RATE_MIN) return 0;
  return Math.round((Math.log(rate / RATE_MIN) / Math.log(max / RATE_MIN)) * POSITIONS);
}

/**
 * The rate after the slider moved from `rate` to a position. At low rates two digits cannot show one step of an arrow
 * key, and the rate would round back to its old value; so it moves to the next different rate.
 */
export function stepRate(rate: number, position: number, max: number): number {
  const step = Math.sign(position - positionOf(rate, max));
  let at = position;
  while (step !== 0 && at > 0 && at < POSITIONS && (rateAt(at, max) - rate) * step <= 0) at += step;
  return rateAt(at, max);
}

/** The typed text as a rate; null when it is none. */
export function parseRate(text: string): number | null {
  const rate = Number(text.trim().replace(",", "."));
  return text.trim() !== "" && Number.isFinite(rate) && rate > 0 && rate <= 100_000 ? rate : null;
}
