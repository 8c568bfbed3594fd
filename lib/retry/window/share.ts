/**
 * Whole counts at a share of a total. A decimal ratio times a count misses the whole number it means by an ulp or two
 * (0.28 * 25 = 7.000000000000001, 0.7 * 90 = 62.99999999999999): this much of the product is taken for rounding.
 */
const ROUNDING = 4 * Number.EPSILON;

/** The least whole count that is `ratio` of `total` or more. */
export function leastAt(ratio: number, total: number): number {
  return Math.ceil(ratio * total * (1 - ROUNDING));
}

/** The greatest whole count that is `ratio` of `total` or less. */
export function mostAt(ratio: number, total: number): number {
  return Math.floor(ratio * total * (1 + ROUNDING));
}
