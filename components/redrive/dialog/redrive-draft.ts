import { strandWords } from "@/components/redrive/dialog/earlier-words";
import { etaBefore, rateWords, spanWords } from "@/components/redrive/eta-words";
import { refusedTotal } from "@/components/redrive/refusal-words";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { CANARY_ABOVE, CANARY_STEPS } from "@/lib/redrive/pace/canary.pure";
import { canaryAhead, redriveTimeMs } from "@/lib/redrive/pace/redrive-estimate.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { HOLD_MS } from "@/lib/redrive/request/holds.browser";
import type { Brake, RedriveRequest } from "@/lib/redrive/request/redrive-request.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import type { ConfirmableRefusal } from "@/lib/states/refusal.pure";

/** The values of the dialog before it is sent. */
export type RedriveDraft = {
  lane: "main" | "slow";
  /** The name of a target; null = that of each event's source on the lane. */
  target: string | null;
  /** null = the rate of the lane or target, also when that rate changes later. */
  ratePerSecond: number | null;
  /** null = by the size of the set, see `hasCanary`. */
  canary: boolean | null;
  /** As typed: `1, 10, 100`. */
  canarySteps: string;
  brakePercent: string;
  brakeWindow: string;
  /** Empty = no bound. */
  latencyMsMax: string;
  when: "now" | "time" | "breaker";
  /** As the browser's field has it: `2026-11-22T14:05`, in the browser's time zone. */
  startAt: string;
  /** Names of channels that are notified when it ends or stalls. */
  tell: string[];
  reason: string;
  typed: string;
  /** What to do with earlier versions that the selection leaves parked; null = not chosen. */
  earlier: Earlier | null;
  /** The text typed to send ahead of the earlier versions. */
  typedStrand: string;
  /** Refusals by admission that the person confirmed to set aside. */
  despite: ConfirmableRefusal[];
};

/** The sources of the events; where these could not be counted in time, those that the filter names. */
export function sourcesOf(
  { eligible, sources }: Pick<PreviewOut, "eligible" | "sources">,
  selection: Selection,
): string[] {
  if (eligible === null && "filter" in selection) return selection.filter.source ?? [];
  return Object.keys(sources);
}

/** The named targets of these sources, to which the events of all of them could go: their kind is one. */
export function targetChoices(targets: readonly TargetOut[], sources: readonly string[]): string[] {
  const own = targets.filter(({ source }) => sources.includes(source));
  if (new Set(own.map(({ kind }) => kind)).size > 1) return [];
  return own.filter(({ lane }) => lane === null).map(({ name }) => name);
}

/** The effective choice. By default the redrive sends what was selected and can be sent: no preset extends the selection. */
export function earlierOf({ earlier }: Pick<RedriveDraft, "earlier">): Earlier {
  return earlier ?? "hold";
}

/** A canary of a few events could only make them slower: the brake judges no fewer than ten outcomes. */
export function hasCanary({ canary }: Pick<RedriveDraft, "canary">, eligible: number | null): boolean {
  return canary ?? (eligible === null || eligible > CANARY_ABOVE);
}

/** The typed steps; null = they are not whole numbers above 0, each above the one before. */
export function stepsOf({ canarySteps }: Pick<RedriveDraft, "canarySteps">): number[] | null {
  const steps = canarySteps
    .split(/[\s,;]+/)
    .filter((text) => text !== "")
    .map(Number);
  const rises = steps.every((step, at) => Number.isInteger(step) && step > (steps[at - 1] ?? 0));
  return rises && steps.length >= 1 && steps.length <= 10 ? steps : null;
}

const BRAKE_MIN = 10;

export type BrakeField = "brakePercent" | "brakeWindow" | "latencyMsMax";

/** The typed brake. Its values are in their bounds where `brakeFaults` names none. */
function brakeOf(draft: Pick<RedriveDraft, BrakeField>): Brake {
  const latencyMsMax = draft.latencyMsMax.trim() === "" ? null : Number(draft.latencyMsMax);
  const [ratio, window] = [Number(draft.brakePercent) / 100, Number(draft.brakeWindow)];
  return { ratio, window, minSample: BRAKE_MIN, latencyMsMax };
}

/** The fields of the brake that are out of their bounds. */
export function brakeFaults(draft: Pick<RedriveDraft, BrakeField>): BrakeField[] {
  const { ratio, window, latencyMsMax } = brakeOf(draft);
  const bounded = (value: number, min: number, max: number) => Number.isInteger(value) && value >= min && value <= max;
  const faults: BrakeField[] = [];
  if (!(ratio > 0 && ratio <= 1)) faults.push("brakePercent");
  if (!bounded(window, BRAKE_MIN, 1_000)) faults.push("brakeWindow");
  if (latencyMsMax !== null && !bounded(latencyMsMax, 1, 600_000)) faults.push("latencyMsMax");
  return faults;
}

function paceOf(draft: RedriveDraft, eligible: number | null): Pick<RedriveRequest, "canary" | "brake"> {
  const brake = brakeOf(draft);
  const canary = { steps: stepsOf(draft)!, stopAtFailureRatio: brake.ratio, window: brake.window };
  return { canary: hasCanary(draft, eligible) ? canary : false, brake };
}

/** A redrive that waits can be undone until it starts, and needs no hold. */
function startOf({ when, startAt }: RedriveDraft): Pick<RedriveRequest, "holdMs" | "startAt" | "startWhen"> {
  if (when === "time") return { startAt: new Date(startAt).toISOString() };
  return when === "breaker" ? { startWhen: { breakerCloses: true }, holdMs: HOLD_MS } : { holdMs: HOLD_MS };
}

export function redriveRequest(
  selection: Selection,
  mode: RedriveOut["mode"],
  draft: RedriveDraft,
  { cutoff, eligible }: Pick<PreviewOut, "cutoff" | "eligible">,
): RedriveRequest {
  const reason = draft.reason.trim();
  const sends = mode === "deliver";
  return {
    select: pinSelection(selection, cutoff),
    mode,
    lane: draft.lane,
    ...(draft.target === null ? {} : { target: draft.target }),
    ratePerSecond: draft.ratePerSecond,
    ...(sends ? paceOf(draft, eligible) : { canary: false }),
    earlier: earlierOf(draft),
    ...(draft.despite.length > 0 ? { despite: draft.despite } : {}),
    ...(sends ? startOf(draft) : {}),
    ...(reason === "" ? {} : { reason }),
    ...(draft.tell.length === 0 ? {} : { tell: draft.tell }),
  };
}

/** Problems that keep a draft from being sent, by field. */
export type DraftProblems = {
  reason?: string;
  typed?: string;
  strand?: string;
  canarySteps?: string;
  brake?: string;
  startAt?: string;
};

/** Whether one of the problems is in a folded field. */
export function isFolded(problems: DraftProblems): boolean {
  return [problems.canarySteps, problems.brake, problems.startAt].some((problem) => problem !== undefined);
}

const FIELD_OF: Record<string, keyof DraftProblems> = {
  reason: "reason",
  canary: "canarySteps",
  brake: "brake",
  startAt: "startAt",
};

/** The fields that the server rejected, by the names of the dialog. */
export function refusedProblems(fields: readonly { field: string; detail: string }[]): DraftProblems {
  const known = fields.flatMap(({ field, detail }) => {
    const name = FIELD_OF[field.split(".")[0]!];
    return name === undefined ? [] : [[name, detail] as const];
  });
  return Object.fromEntries(known);
}

export function draftProblems(mode: RedriveOut["mode"], draft: RedriveDraft, preview: PreviewOut): DraftProblems {
  if (mode === "verify") return {};
  const problems: DraftProblems = {};
  if (isReasonRequired(preview) && draft.reason.trim() === "")
    problems.reason = "Enter a reason: it is recorded in the audit log.";
  if (hasCanary(draft, preview.eligible) && stepsOf(draft) === null)
    problems.canarySteps = "Whole numbers, each above the one before: 1, 10, 100.";
  if (draft.when === "time" && Number.isNaN(Date.parse(draft.startAt))) problems.startAt = "Choose a day and a time.";
  if (brakeFaults(draft).length > 0)
    problems.brake = "A share of 1 to 100%, a window of 10 to 1,000, a latency of 1 to 600,000 ms or none.";
  const confirmation = confirmationOf(preview);
  if (confirmation.kind === "typed" && !isConfirmed(confirmation, draft.typed))
    problems.typed = `Type ${confirmation.expected} to confirm.`;
  const { earlier } = preview;
  if (earlier && earlier.heldEvents > 0 && earlierOf(draft) === "pass") {
    const expected = strandWords(earlier);
    if (draft.typedStrand.trim().toLowerCase() !== expected) problems.strand = `Type ${expected} to confirm.`;
  }
  return problems;
}

export function confirmationOf(preview: PreviewOut): Confirmation {
  return confirmationFor(preview.eligible, preview.kind, preview.reasonRequiredAbove);
}

/** An unknown or inexact count may be larger than it reads. */
export function isReasonRequired({ eligible, kind, reasonRequiredAbove }: PreviewOut): boolean {
  return eligible === null || kind !== "exact" || eligible > reasonRequiredAbove;
}

/** The duration of the redrive, ms, by the server's own formula; null = unknown. */
export function draftEtaMs(draft: RedriveDraft, preview: PreviewOut): number | null {
  const { canaryQuietMs, eligible, sources } = preview;
  if (eligible === null) return null;
  return redriveTimeMs({
    events: eligible,
    asked: draft.ratePerSecond,
    targets: Object.values(sources).map(({ eligible: events, ...pace }) => ({ ...pace, events })),
    canary: hasCanary(draft, eligible) ? canaryAhead(stepsOf(draft) ?? CANARY_STEPS, eligible, canaryQuietMs) : null,
  });
}

/** `takes about 41 min, warms up for 30 s`. */
export function timeWords(draft: RedriveDraft, preview: PreviewOut): string {
  const warmUp = warmUpWords(preview);
  return etaBefore(draftEtaMs(draft, preview)) + (warmUp === null ? "" : `, ${warmUp}`);
}

/**
 * What the folded fields say, in one line: `5/s, takes about 41 min · brake above 20% of the last 50 · starts now`.
 * `reasonFolded`: the reason is one of them.
 */
export function foldedWords(
  mode: RedriveOut["mode"],
  draft: RedriveDraft,
  preview: PreviewOut,
  reasonFolded: boolean,
): string {
  const { target, ratePerSecond, brakePercent, brakeWindow, latencyMsMax } = draft;
  const sends = mode === "deliver" && preview.eligible !== 0;
  const rate = Math.min(ratePerSecond ?? Number.POSITIVE_INFINITY, preview.ratePerSecond ?? Number.POSITIVE_INFINITY);
  const latency = latencyMsMax.trim() === "" ? "" : ` or ${latencyMsMax.trim()} ms`;
  const reason = draft.reason.trim();
  return [
    ...(target === null ? [] : [`to ${target}`]),
    ...(sends
      ? [
          `${Number.isFinite(rate) ? `${rateWords(rate)}, ` : ""}${timeWords(draft, preview)}`,
          `brake above ${brakePercent}% of the last ${brakeWindow}${latency}`,
          startWords(draft),
        ]
      : []),
    ...(reasonFolded && (reason !== "" || !sends) ? [reason === "" ? "no reason" : `reason: ${reason}`] : []),
    ...(draft.tell.length === 0 ? [] : [`notifies ${draft.tell.join(", ")}`]),
  ].join(" · ");
}

function startWords({ when, startAt }: RedriveDraft): string {
  if (when === "breaker") return "starts when the breaker closes";
  return when === "now" ? "starts now" : `starts at ${startAt === "" ? "a time" : startAt.replace("T", " ")}`;
}

/** The warm-up of the targets: `warms up for 30 s`; null = no target warms up. */
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

/** Whether a second person must approve it. */
export function needsApproval({ approvalCauses }: Pick<PreviewOut, "approvalCauses">): boolean {
  return approvalCauses !== null && approvalCauses.length > 0;
}

export function buttonWords(mode: RedriveOut["mode"], preview: PreviewOut): string {
  return mode === "deliver" && needsApproval(preview)
    ? `Request approval for ${countWords(preview.eligible, preview.kind)}`
    : whatWords(mode, preview);
}

/** A dry run also checks the refused events, to show their reasons. */
function whatWords(mode: RedriveOut["mode"], preview: PreviewOut): string {
  return mode === "verify"
    ? `Verify ${countWords(preview.total, preview.kind)}`
    : `Redrive ${countWords(preview.eligible, preview.kind)}`;
}

/** `Redrive 12,300 of 12,481`; without refusals only one number. */
export function titleWords(mode: RedriveOut["mode"], preview: PreviewOut): string {
  if (mode === "verify" || preview.eligible === null || preview.total === null || preview.eligible === preview.total)
    return whatWords(mode, preview);
  return `Redrive ${formatNumber(preview.eligible)} of ${formatNumber(preview.total)}`;
}

/** The share of the set that will be sent, 0..1, for the bar. */
export function eligibleShare(preview: PreviewOut): number {
  const refused = refusedTotal(preview.refused);
  const eligible = preview.eligible ?? 0;
  return eligible + refused === 0 ? 0 : eligible / (eligible + refused);
}

/** `1, 10, 100, then all`: only the steps smaller than the set. */
export function canaryWords(eligible: number | null, all: readonly number[] = CANARY_STEPS): string {
  const steps = all.filter((step) => eligible === null || step < eligible);
  return steps.length === 0 ? "all at once" : `${steps.join(", ")}, then all`;
}

type Confirmation =
  | { kind: "click" }
  /** `expected`: the text to type, as shown; grouping marks do not matter. */
  | { kind: "typed"; expected: string };

/**
 * How a person confirms a redrive. An unknown or inexact count may be larger than it reads, so the person types the
 * number, or a phrase when there is no number.
 *
 * @param typedAbove above this number of events the person types the count: one wrong click must not start the redrive
 */
export function confirmationFor(
  count: number | null,
  kind: "exact" | "estimated" | "atLeast",
  typedAbove: number,
): Confirmation {
  if (count === null) return { kind: "typed", expected: "all matching" };
  if (kind === "exact" && count <= typedAbove) return { kind: "click" };
  return { kind: "typed", expected: count.toLocaleString("en-US") };
}

export function isConfirmed(confirmation: Confirmation, typed: string): boolean {
  if (confirmation.kind === "click") return true;
  return bare(typed) === bare(confirmation.expected);
}

/** `12,300`, `12 300`, `12.300` and `12300` are one number; case does not matter. */
function bare(text: string): string {
  return text.replaceAll(/[\s,.'’_]/g, "").toLowerCase();
}
