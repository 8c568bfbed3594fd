import { type Confirmation, confirmationFor, isConfirmed } from "@/components/redrives/confirmation";
import { strandWords } from "@/components/redrives/earlier-words";
import { spanWords } from "@/components/redrives/eta-words";
import { pinSelection } from "@/components/redrives/pin-selection";
import { refusedTotal } from "@/components/redrives/refusal-words";
import { formatNumber, plural } from "@/lib/browser/format";
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
