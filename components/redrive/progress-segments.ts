import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const SEGMENT_KINDS = [
  "confirmed",
  "unknown",
  "bounced",
  "passed",
  "failed",
  "refused",
  "held",
  "cancelled",
  "open",
] as const;
export type SegmentKind = (typeof SEGMENT_KINDS)[number];

type Segment = {
  kind: SegmentKind;
  label: string;
  count: number;
  /** The share of the total, 0..1. */
  share: number;
  /** The width to draw, percent. It has a minimum, so that one failure in a million is visible. */
  widthPercent: number;
};

export type ProgressCounts = Pick<
  RedriveOut,
  | "mode"
  | "total"
  | "delivered"
  | "sent"
  | "deduplicated"
  | "passed"
  | "confirmed"
  | "bounced"
  | "failed"
  | "refused"
  | "cancelled"
  | "open"
  | "refusedByReason"
>;

const LABELS: Record<SegmentKind, string> = {
  confirmed: "confirmed",
  unknown: "not confirmed yet",
  bounced: "bounced",
  passed: "passed",
  failed: "failed",
  refused: "refused",
  held: "held",
  cancelled: "cancelled",
  open: "open",
};

/** A dry run sends nothing, so its words are verdicts. */
const VERDICTS: Partial<Record<SegmentKind, string>> = {
  passed: "would be sent",
  refused: "would be refused",
  held: "would be held",
  open: "not checked yet",
};

export function segmentLabel(kind: SegmentKind, mode: RedriveOut["mode"]): string {
  return (mode === "verify" ? VERDICTS[kind] : undefined) ?? LABELS[kind];
}

const WIDTH_PERCENT_MIN = 0.6;

/**
 * The number of events that the redrive sends, or that a dry run checks. Refused events are left out of a redrive and
 * shown beside it: they are not progress.
 */
export function sizeOf(counts: Pick<RedriveOut, "mode" | "total" | "refused">): number {
  return counts.mode === "verify" ? counts.total : Math.max(0, counts.total - counts.refused);
}

/** `1,192 left out: 1,186 held, 6 refused`, `1 left out: refused`; null = none, or a dry run, which lists each. */
export function leftOutWords(counts: Pick<ProgressCounts, "mode" | "refused" | "refusedByReason">): string | null {
  if (counts.mode === "verify" || counts.refused === 0) return null;
  const held = heldOf(counts);
  const refused = counts.refused - held;
  const why = refused === 0 ? "held" : held === 0 ? "refused" : `${number(held)} held, ${number(refused)} refused`;
  return `${number(counts.refused)} left out: ${why}`;
}

function heldOf({ refused, refusedByReason }: Pick<ProgressCounts, "refused" | "refusedByReason">): number {
  return Math.min(refusedByReason["held-by-head"] ?? 0, refused);
}

/**
 * The bar of a redrive: every event that it sends, and every one that a dry run checks, is in exactly one segment; empty segments are
 * left out. Delivered items are confirmed, bounced or not yet known; of a dry run the refused ones are held by an earlier event of
 * the aggregate or refused for another reason.
 */
export function progressSegments(counts: ProgressCounts): Segment[] {
  const verdict = counts.mode === "verify";
  const held = verdict ? heldOf(counts) : 0;
  const confirmed = Math.min(counts.confirmed, counts.delivered);
  const bounced = Math.min(counts.bounced, counts.delivered - confirmed);
  const byKind: Record<SegmentKind, number> = {
    confirmed,
    unknown: counts.delivered - confirmed - bounced,
    bounced,
    passed: counts.passed,
    failed: counts.failed,
    refused: verdict ? counts.refused - held : 0,
    held,
    cancelled: counts.cancelled,
    open: counts.open,
  };
  const sum = SEGMENT_KINDS.reduce((total, kind) => total + byKind[kind], 0);
  const present = SEGMENT_KINDS.filter((kind) => byKind[kind] > 0);
  return widened(
    present.map((kind) => ({
      kind,
      label: segmentLabel(kind, counts.mode),
      count: byKind[kind],
      share: byKind[kind] / sum,
      widthPercent: 0,
    })),
  );
}

/** Raises small segments to the minimum and shrinks large segments in proportion, so that the bar stays 100 %. */
function widened(segments: Segment[]): Segment[] {
  const isSliver = (segment: Segment) => segment.share * 100 < WIDTH_PERCENT_MIN;
  const slivers = segments.filter(isSliver).length;
  const wideShare = segments.reduce((sum, segment) => sum + (isSliver(segment) ? 0 : segment.share), 0);
  const left = 100 - slivers * WIDTH_PERCENT_MIN;
  return segments.map((segment) => ({
    ...segment,
    widthPercent: isSliver(segment) ? WIDTH_PERCENT_MIN : (segment.share / wideShare) * left,
  }));
}

/** The number of events of the redrive that have an outcome. */
export function decided(counts: Pick<RedriveOut, "mode" | "total" | "refused" | "open">): number {
  return Math.max(0, sizeOf(counts) - counts.open);
}

/** The sent events, or the events that a dry run found sendable. */
export function went(counts: Pick<ProgressCounts, "mode" | "delivered" | "passed">): number {
  return counts.mode === "verify" ? counts.passed : counts.delivered;
}

const number = (count: number) => count.toLocaleString("en-US");

type Outcome = Pick<ProgressCounts, "mode" | "sent" | "deduplicated" | "passed" | "total" | "refused" | "open">;

/** The outcome in a few words: `63 of 453 sent, 4 deduplicated`, `0 of 453 would go`. */
export function outcomeWords(counts: Outcome): string {
  if (counts.mode === "deliver") {
    const known = counts.deduplicated > 0 ? `, ${number(counts.deduplicated)} deduplicated` : "";
    return `${number(counts.sent)} of ${number(sizeOf(counts))} sent${known}`;
  }
  // Of the checked events only: the others may be sendable or not.
  return `${number(counts.passed)} of ${number(decided(counts))} would be sent`;
}

/** The same for a list, with what is left out: `1 of 233 sent, 1,186 left out`. */
export function listedOutcome(counts: Outcome): string {
  const leftOut = counts.mode === "verify" || counts.refused === 0 ? "" : `, ${number(counts.refused)} left out`;
  return outcomeWords(counts) + leftOut;
}

/** What became of the events that their target has: `390 confirmed, 12 bounced, 30 not confirmed yet`; null = it has none. */
export function stayedWords(
  counts: Pick<RedriveOut, "delivered" | "confirmed" | "bounced" | "unknown">,
): string | null {
  if (counts.delivered === 0) return null;
  const rest = [
    ...(counts.bounced > 0 ? [`${number(counts.bounced)} bounced`] : []),
    ...(counts.unknown > 0 ? [`${number(counts.unknown)} not confirmed yet`] : []),
  ];
  return [`${number(counts.confirmed)} confirmed`, ...rest].join(", ");
}

/** Rounded so that 0% means none and 100% means all. */
export function percentWords(part: number, total: number): string {
  if (total <= 0) return "0%";
  const percent = (part / total) * 100;
  if (part > 0 && percent < 1) return "< 1%";
  if (part < total && percent > 99) return `${(Math.floor(percent * 10) / 10).toFixed(1)}%`;
  return `${Math.round(percent)}%`;
}

/** The bar in one sentence, for `aria-label` and the live region. */
export function progressSentence(counts: ProgressCounts): string {
  if (counts.total === 0) return "No events.";
  const parts = progressSegments(counts).map((segment) => `${number(segment.count)} ${segment.label}`);
  const done = `${number(decided(counts))} of ${number(sizeOf(counts))} finished`;
  const said = parts.length === 0 ? done : `${done}: ${parts.join(", ")}`;
  const leftOut = leftOutWords(counts);
  return leftOut === null ? `${said}.` : `${said}; ${leftOut}.`;
}
