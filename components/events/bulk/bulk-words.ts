import { etaLeft, rateWords } from "@/components/redrive/eta-words";
import { countText } from "@/components/ui/count-text";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { RECENT_DAYS } from "@/lib/keep/retention/retention.pure";
import { formatNumber, formatShare, plural } from "@/lib/platform/plain/format.pure";
import { MEND_FAILURES, MEND_REASONS } from "@/lib/repair/mends/mending.pure";
import { type BulkKind, bulkShare } from "@/lib/states/bulk-operation.pure";
import { REFUSAL_TEXT, type Refusal } from "@/lib/states/refusal.pure";

/** From this number on the person types the number: one wrong click must not ignore thousands of events. */
const TYPED_FROM = 1_000;

type Words = {
  verb: string;
  doing: string;
  done: string;
  /** Behind the events. */
  whither?: string;
  /** What is cancelled; absent = the verb. */
  noun?: string;
  none?: string;
};

export const VERBS: Record<BulkKind, Words> = {
  ignore: { verb: "Ignore", doing: "Ignoring", done: "Ignored" },
  release: { verb: "Release", doing: "Releasing", done: "Released" },
  confirm: { verb: "Confirm", doing: "Confirming", done: "Confirmed" },
  mend: { verb: "Mend", doing: "Mending", done: "Mended" },
  "undo-mend": {
    verb: "Undo the mend of",
    doing: "Undoing the mend of",
    done: "Undid the mend of",
    noun: "undo",
    none: "No mend was undone",
  },
  remove: {
    verb: "Remove",
    doing: "Moving",
    done: "Moved",
    whither: " to the archive",
    noun: "removal",
    none: "No event was removed",
  },
  expire: {
    verb: "Expire",
    doing: "Expiring",
    done: "Expired",
    noun: "expiry",
    none: "No event expired",
  },
};

/** The text that confirms a set of this size: its number, `all` for an unknown number, null for a small set. */
export function mustType(total: number | null): string | null {
  if (total === null) return "all";
  return total > TYPED_FROM ? String(total) : null;
}

const REFUSALS: Record<string, string> = {
  "not-pending": "not PENDING",
  "not-ignored": "not IGNORED",
  "already-ignored": "already IGNORED",
  "already-confirmed": "already CONFIRMED",
  "several-producers": "with an event id that several producers use: name the producer",
  "confirmed-when-sent": "to be confirmed when their send ends",
  "changed-meanwhile": "changed in the meantime",
  "store-refused": "rejected by the database: see the worker's log",
  "not-settled": "still PENDING",
  "in-redrive": "QUEUED in a redrive",
  unconfirmed: "redriven and not confirmed yet",
  "holds-later": "earlier than parked versions of their aggregate",
  recent: `sent, changed or restored in the last ${RECENT_DAYS} days`,
  "not-due": "kept longer by their own retention period",
  "no-body": "without a stored payload",
  "not-found": "no longer stored",
  ...MEND_REASONS,
  ...MEND_FAILURES,
};

/** The number of unchanged events for one reason: `2 not PENDING`, `3 sends already under way`. */
function leftText(reason: string, count: number): string {
  if (reason === "in-flight") return `${plural(count, "send")} already under way`;
  // The failures of a recipe are sentences of one event.
  if (Object.hasOwn(MEND_FAILURES, reason)) return `${reasonText(reason)} (${formatNumber(count)})`;
  return `${formatNumber(count)} ${reasonText(reason)}`;
}

function reasonText(reason: string): string {
  if (Object.hasOwn(REFUSALS, reason)) return REFUSALS[reason]!;
  if (Object.hasOwn(REFUSAL_TEXT, reason)) return REFUSAL_TEXT[reason as Refusal].replace(/^(is|has|was) /, "");
  return reason;
}

/** `2 not PENDING · 3 sends already under way`; empty when every event was changed. */
export function leftAlone(refused: Record<string, number>): string {
  return Object.entries(refused)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => leftText(reason, count))
    .join(" · ");
}

/** `Ignored 37 events`, and the unchanged events with their reasons. */
export function changedText(
  kind: BulkKind,
  { changed, refused }: Pick<BulkAnswer, "changed"> & { refused: Record<string, number> },
): { title: string; detail: string | undefined } {
  const { done, whither = "", none = `Nothing was ${done.toLowerCase()}` } = VERBS[kind];
  const left = leftAlone(refused);
  return {
    title: changed === 0 ? none : `${done} ${plural(changed, "event")}${whither}`,
    detail: left === "" ? undefined : `Not changed: ${left}`,
  };
}

/** `3 events arrived after the count: they are left as they are.`; null = none did. */
export function laterWords(events: number): string | null {
  if (events === 0) return null;
  return `${plural(events, "event")} arrived after the count: ${events === 1 ? "it is not changed" : "they are not changed"}.`;
}

type Progress = Pick<
  BulkOperationOut,
  "kind" | "state" | "changed" | "refused" | "expected" | "ratePerSecond" | "etaMs" | "approval"
>;

/** Whether a second person must approve first: nothing changes until then. */
export function awaitsApproval({ state, approval }: Pick<BulkOperationOut, "state" | "approval">): boolean {
  return state === "RUNNING" && approval?.state === "asked";
}

/** `Undone: 238 events are as before the mend`; null = no event's mend was undone, or that still runs. */
export function undoneText({ undo, changed }: Pick<BulkOperationOut, "undo" | "changed">): string | null {
  if (undo === null || undo.running || undo.changed === 0) return null;
  const { changed: undone } = undo;
  const are = undone === 1 ? "is" : "are";
  return undone >= changed
    ? `Undone: ${plural(undone, "event")} ${are} back at the revision from before the mend`
    : `Undone: ${formatNumber(undone)} of ${plural(changed, "event")} ${are} back at the revision from before the mend`;
}

/** Whether the mend of every event was undone: a dry run of its result says nothing about the current bytes. */
export function isUndone({ undo, changed }: Pick<BulkOperationOut, "undo" | "changed">): boolean {
  return undo !== null && !undo.running && changed > 0 && undo.changed >= changed;
}

/** `Ignoring 12,481 events`, `Ignored 12,300 events`, `Ignored 4,000 of 12,481 events`. */
export function operationTitle(operation: Progress): string {
  const { kind, state, changed, expected } = operation;
  const { verb, doing, done, whither = "" } = VERBS[kind];
  if (awaitsApproval(operation)) return `${verb} ${countText(expected)} events${whither}: waiting for approval`;
  if (state === "RUNNING") return `${doing} ${countText(expected)} events${whither}`;
  if (state === "DONE") return `${done} ${plural(changed, "event")}${whither}`;
  return `${done} ${formatNumber(changed)} of ${countText(expected)} events${whither}`;
}

/** `62 %`; empty for an ended operation, whose numbers show its result. */
export function shareWords(operation: Progress): string {
  return formatShare(bulkShare({ ...operation, expected: operation.expected.value }));
}

/** `1,240/s · about 8 s left` */
export function paceWords({ ratePerSecond, etaMs }: Pick<Progress, "ratePerSecond" | "etaMs">): string {
  return ratePerSecond === null ? "starting" : `${rateWords(Math.round(ratePerSecond))} · ${etaLeft(etaMs)}`;
}
