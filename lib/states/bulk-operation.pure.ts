import { EVENT_MOVES, type EventStatus } from "@/lib/states/event-state.pure";

/**
 * A bulk operation changes the state of a set of events. It is RUNNING until each event of the set was changed or
 * refused (DONE), or until a person cancels it: what it has changed by then stays changed.
 */
export const BULK_STATES = ["RUNNING", "DONE", "CANCELLED"] as const;
export type BulkState = (typeof BULK_STATES)[number];

/** Each compare-and-set of `bulk_operations.state`. */
export const BULK_MOVES = {
  finish: { from: ["RUNNING"], to: "DONE" },
  cancel: { from: ["RUNNING"], to: "CANCELLED" },
} as const satisfies Record<string, { from: readonly BulkState[]; to: BulkState }>;

/** The state in which an operation begins, and the only one in which a worker changes events. */
export const BULK_BEGINS = "RUNNING" satisfies BulkState;

export const BULK_KINDS = ["ignore", "release", "confirm", "mend", "undo-mend", "remove", "expire"] as const;
export type BulkKind = (typeof BULK_KINDS)[number];

/** Kinds that move events into the archive: a person's removal, and the end of the time that events are kept. */
const REMOVALS = ["remove", "expire"] as const satisfies readonly BulkKind[];
export type Removal = (typeof REMOVALS)[number];

export function isRemoval(kind: BulkKind): kind is Removal {
  return (REMOVALS as readonly BulkKind[]).includes(kind);
}

/** The operation that undoes each kind; null = none: the report of a consumer is final, and what was removed is restored from the archive. */
export const INVERSE: Record<BulkKind, BulkKind | null> = {
  ignore: "release",
  release: "ignore",
  confirm: null,
  mend: "undo-mend",
  "undo-mend": null,
  remove: null,
  expire: null,
};

type BulkAfter = { status?: EventStatus; confirmed?: true; removed?: true };

/** The audit action of each kind, and the values that its events have afterwards. */
export const BULK_EFFECT: Record<BulkKind, { action: string; after: BulkAfter }> = {
  ignore: { action: "event.ignored", after: { status: EVENT_MOVES.ignore.to } },
  release: { action: "event.released", after: { status: EVENT_MOVES.release.to } },
  confirm: { action: "event.confirmed", after: { status: EVENT_MOVES.confirm.to, confirmed: true } },
  mend: { action: "event.mended", after: {} },
  "undo-mend": { action: "event.mend-undone", after: {} },
  remove: { action: "event.removed", after: { removed: true } },
  expire: { action: "event.expired", after: { removed: true } },
};

/**
 * The share of the events that are changed or refused, 0 to 1. The number of events is an estimate and may be too low,
 * so the share stops at 1.
 */
export function bulkShare({ changed, refused, expected }: { changed: number; refused: number; expected: number }) {
  const worked = changed + refused;
  return worked === 0 ? 0 : worked / Math.max(worked, expected);
}
