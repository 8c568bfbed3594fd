import { strandWords } from "@/components/redrives/earlier-words";
import { spanWords } from "@/components/redrives/eta-words";
import { refusedTotal } from "@/components/redrives/refusal-words";
import { formatNumber, plural } from "@/lib/browser/format";
import type { EventFilter } from "@/lib/contract/event-filter";
import { resolveInstant } from "@/lib/contract/filter-params";
import type { PreviewOut, RedriveOut, RedriveRequest } from "@/lib/contract/redrives";
import type { Selection } from "@/lib/contract/selection";
import { CANARY_STEPS } from "@/lib/core/canary";
import type { Earlier } from "@/lib/core/order-gate";
import { canaryAhead, redriveTimeMs } from "@/lib/core/redrive-rate";

/** What the dialog holds until it is sent. */
export type RedriveDraft = {
  lane: "main" | "slow";
  /** null = the lane's own rate, also when that changes later. */
  ratePerSecond: number | null;
  canary: boolean;
  reason: string;
  typed: string;
  /** What becomes of earlier versions that the selection leaves parked; null = nobody has chosen, see `earlierOf`. */
  earlier: Earlier | null;
  /** What was typed to strand them. */
  typedStrand: string;
};

/** The choice that holds: without one, earlier versions are taken along where there are any. */
export function earlierOf(draft: RedriveDraft, preview: Pick<PreviewOut, "earlier"> | undefined): Earlier {
  return draft.earlier ?? ((preview?.earlier?.heldEvents ?? 0) > 0 ? "include" : "hold");
}

/** A dry run changes nothing, so nobody is made to explain it. */
const VERIFY_REASON = "Dry run before a redrive";

export function redriveRequest(
  selection: Selection,
  mode: RedriveOut["mode"],
  draft: RedriveDraft,
  { cutoff, earlier }: Pick<PreviewOut, "cutoff" | "earlier">,
): RedriveRequest {
  return {
    select: pinSelection(selection, cutoff),
    mode,
    lane: draft.lane,
    ratePerSecond: draft.ratePerSecond,
    canary: mode === "deliver" && draft.canary,
    earlier: earlierOf(draft, { earlier }),
    reason: draft.reason.trim() || (mode === "verify" ? VERIFY_REASON : ""),
  };
}

/** Problems that keep a draft from being sent, by field. */
export type DraftProblems = { reason?: string; typed?: string; strand?: string };

export function draftProblems(mode: RedriveOut["mode"], draft: RedriveDraft, preview: PreviewOut): DraftProblems {
  if (mode === "verify") return {};
  const problems: DraftProblems = {};
  if (draft.reason.trim() === "") problems.reason = "Say why: the reason is kept in the audit.";
  const confirmation = confirmationOf(preview);
  if (confirmation.kind === "typed" && !isConfirmed(confirmation, draft.typed))
    problems.typed = `Type ${confirmation.expected} to confirm.`;
  const { earlier } = preview;
  if (earlier && earlier.heldEvents > 0 && earlierOf(draft, preview) === "pass") {
    const expected = strandWords(earlier);
    if (draft.typedStrand.trim().toLowerCase() !== expected) problems.strand = `Type ${expected} to confirm.`;
  }
  return problems;
}

export function confirmationOf(preview: PreviewOut): Confirmation {
  return confirmationFor(preview.eligible, preview.kind);
}

/** How long the draft would take, ms: by the same rule as the server's own answer. null when that cannot be known. */
export function draftEtaMs(draft: RedriveDraft, preview: PreviewOut): number | null {
  const { canaryQuietMs, eligible, sources } = preview;
  if (eligible === null) return null;
  return redriveTimeMs({
    events: eligible,
    asked: draft.ratePerSecond,
    targets: Object.values(sources).map(({ eligible: events, ...pace }) => ({ ...pace, events })),
    canary: draft.canary ? canaryAhead(CANARY_STEPS, eligible, canaryQuietMs) : null,
  });
}

/** What slows the start: `warms up for 30 s`; null = no target does. */
export function warmUpWords({ sources }: Pick<PreviewOut, "sources">): string | null {
  const longestMs = Math.max(0, ...Object.values(sources).map(({ warmUpMs }) => warmUpMs));
  return longestMs === 0 ? null : `warms up for ${spanWords(longestMs)}`;
}

/** `12,300 events`, `≥ 10,000 events`, `all matching events`. */
function countWords(count: number | null, kind: PreviewOut["kind"]): string {
  if (count === null) return "all matching events";
  const sign = kind === "atLeast" ? "≥ " : kind === "estimated" ? "≈ " : "";
  return sign + plural(count, "event");
}

/** What the button does, said on it. A dry run looks at the refused ones too: it is how one learns why. */
export function buttonWords(mode: RedriveOut["mode"], preview: PreviewOut): string {
  return mode === "verify"
    ? `Verify ${countWords(preview.total, preview.kind)}`
    : `Redrive ${countWords(preview.eligible, preview.kind)}`;
}

/** `Redrive 12,300 of 12,481`; without refusals only the one number. */
export function titleWords(mode: RedriveOut["mode"], preview: PreviewOut): string {
  if (mode === "verify" || preview.eligible === null || preview.total === null || preview.eligible === preview.total)
    return buttonWords(mode, preview);
  return `Redrive ${formatNumber(preview.eligible)} of ${formatNumber(preview.total)}`;
}

/** Share that will be sent, 0..1, for the bar. */
export function eligibleShare(preview: PreviewOut): number {
  const refused = refusedTotal(preview.refused);
  const eligible = preview.eligible ?? 0;
  return eligible + refused === 0 ? 0 : eligible / (eligible + refused);
}

/** `1, 10, 100, then all`: only the stages that are smaller than the set. */
export function canaryWords(eligible: number | null): string {
  const steps = CANARY_STEPS.filter((step) => eligible === null || step < eligible);
  return steps.length === 0 ? "all at once" : `${steps.join(", ")}, then all`;
}

/** Above this many events the count is typed: a slip of the hand must not start it. */
const TYPED_ABOVE = 1_000;

export type Confirmation =
  | { kind: "click" }
  /** `expected` is what must be typed, as shown; grouping marks do not matter. */
  | { kind: "typed"; expected: string };

/**
 * How a batch is confirmed. An unknown or not exact count may be larger than it reads, so it is always typed: the
 * number when there is one, a phrase when there is none.
 */
export function confirmationFor(count: number | null, kind: "exact" | "estimated" | "atLeast"): Confirmation {
  if (count === null) return { kind: "typed", expected: "all matching" };
  if (kind === "exact" && count <= TYPED_ABOVE) return { kind: "click" };
  return { kind: "typed", expected: count.toLocaleString("en-US") };
}

export function isConfirmed(confirmation: Confirmation, typed: string): boolean {
  if (confirmation.kind === "click") return true;
  return bare(typed) === bare(confirmation.expected);
}

/** Grouping marks and case are the reader's habit: `12,300`, `12 300`, `12.300` and `12300` are one number. */
function bare(text: string): string {
  return text.replaceAll(/[\s,.'’_]/g, "").toLowerCase();
}

/**
 * The same selection with its window fixed at the preview's cutoff, so that what is confirmed is what was counted:
 * later arrivals stay out, and a relative start does not slide while the dialog is read. Other selections need no window.
 *
 * @param cutoff ISO 8601, from the preview
 */
export function pinSelection(selection: Selection, cutoff: string): Selection {
  if (!("filter" in selection)) return selection;
  // `to` is exclusive and the preview counted the cutoff's own millisecond.
  const cutoffMs = Date.parse(cutoff) + 1;
  const { from, to } = selection.filter;
  const filter: EventFilter = { ...selection.filter, to: pinned(to ?? "now", cutoffMs, true) };
  if (from !== undefined) filter.from = pinned(from, cutoffMs, false);
  return { filter };
}

/** An end after the cutoff would let later arrivals in. What is no instant is the server's to refuse. */
function pinned(instant: string, cutoffMs: number, isEnd: boolean): string {
  const ms = resolveInstant(instant, cutoffMs);
  if (ms === null) return instant;
  return new Date(isEnd ? Math.min(ms, cutoffMs) : ms).toISOString();
}
