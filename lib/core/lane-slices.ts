/**
 * Slice numbers that are not a slice of items. They travel the same lane, so that planning and canaries survive crashes
 * like any slice. Above every real slice: a redrive of a billion events has 16 million slices.
 */
/** The job of a bulk operation; its id stands in the place of the redrive's. */
export const BULK_SLICE = 999_999_997;
export const PLAN_SLICE = 999_999_998;
export const CANARY_SLICE = 999_999_999;

/** Upper end of an inclusive range that means "all slices". */
export const SLICE_MAX = 900_000_000;
