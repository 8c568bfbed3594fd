export type Random = {
  /** [0, 1) */
  next(): number;
  /** Whole number in [min, max]. */
  whole(min: number, max: number): number;
  pick<T>(list: readonly T[]): T;
  hex(digits: number): string;
};

/** mulberry32: the same chaos for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    whole,
    pick: (list) => list[Math.floor(next() * list.length)]!,
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(""),
  };
}
