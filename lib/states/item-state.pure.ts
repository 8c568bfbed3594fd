/**
 * The life of an item: one event within one redrive.
 *
 * An item is frozen as `open`, or as `refused` when the gate stops it at the request. A worker sends its event
 * and closes it: `delivered` (the target took it, or its consumer had processed it before), `passed` (a verify run found
 * nothing against it), `failed` or `refused` (the gate, the dry run, or a person who ignored the event). A cancelled
 * redrive closes what is open as `cancelled`. A worker that gives an item back leaves it `open`. Nothing leaves a closed
 * state.
 */
/** The states of a closed item. A redrive has a counter for each. */
export const ITEM_ENDS = ["delivered", "passed", "failed", "refused", "cancelled"] as const;
export type ItemEnd = (typeof ITEM_ENDS)[number];
/** The ends that somebody has to look at. Few items end so, and an index of the store holds them alone. */
export const ITEM_EXCEPTIONS = ["failed", "refused", "cancelled"] as const satisfies readonly ItemEnd[];
export const ITEM_STATES = ["open", ...ITEM_ENDS] as const;
export type ItemState = (typeof ITEM_STATES)[number];

/**
 * What became of an item, in one word. A delivered item is `sent` (the target took it) or `deduplicated` (the target had it
 * already), and later `confirmed` or `bounced`; the other words are the states.
 */
export const ITEM_OUTCOMES = [
  "open",
  "sent",
  "deduplicated",
  "confirmed",
  "bounced",
  "passed",
  "failed",
  "refused",
  "cancelled",
] as const;
export type ItemOutcomeWord = (typeof ITEM_OUTCOMES)[number];

const OF_DELIVERED: readonly ItemOutcomeWord[] = ["sent", "deduplicated", "confirmed", "bounced"];

export function stateOfOutcome(outcome: ItemOutcomeWord): ItemState {
  return OF_DELIVERED.includes(outcome) ? "delivered" : (outcome as ItemState);
}

export type ItemMove = "deliver" | "skip" | "pass" | "fail" | "refuse" | "cancel" | "giveBack";

/** Each compare-and-set of `redrive_items.state`: the states it compares with, and the one it writes. */
export const ITEM_MOVES = {
  deliver: { from: ["open"], to: "delivered" },
  // Not sent: its consumer had processed the event.
  skip: { from: ["open"], to: "delivered" },
  pass: { from: ["open"], to: "passed" },
  fail: { from: ["open"], to: "failed" },
  refuse: { from: ["open"], to: "refused" },
  cancel: { from: ["open"], to: "cancelled" },
  giveBack: { from: ["open"], to: "open" },
} as const satisfies Record<ItemMove, { from: readonly ItemState[]; to: ItemState }>;

/** The state of an item that is frozen, by whether the gate stops it. */
export const FROZEN_AS = { passes: "open", stopped: "refused" } as const satisfies Record<string, ItemState>;

/**
 * The life of an attempt: one send of one item.
 *
 * An attempt is `open` from the moment its intent is recorded. The worker that sent closes it: `delivered` or `failed`.
 * `ambiguous`: nobody knows whether the target received the send. The worker sets it when no answer came. It is
 * set, too, when that worker is given up between the send and its end.
 */
export const ATTEMPT_STATES = ["open", "delivered", "failed", "ambiguous"] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];
