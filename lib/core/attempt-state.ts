/**
 * The life of an attempt: one send of one item.
 *
 * An attempt is `open` from the moment its intent is on record. The worker that sent closes it: `delivered` or `failed`.
 * `ambiguous`: nobody knows whether the target got it. The worker says so when no answer came, and the next holder of the
 * item does when the worker was lost between the send and its end.
 */
export const ATTEMPT_STATES = ["open", "delivered", "failed", "ambiguous"] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];
