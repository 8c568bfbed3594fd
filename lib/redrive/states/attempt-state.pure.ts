/**
 * The life of an attempt: one send of one item.
 *
 * An attempt is `open` from the moment its intent is recorded. The worker that sent closes it: `delivered` or `failed`.
 * `ambiguous`: nobody knows whether the target received the send. The worker sets it when no answer came. The next
 * worker that claims the item sets it when the first worker was lost between the send and its end.
 */
export const ATTEMPT_STATES = ["open", "delivered", "failed", "ambiguous"] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];
