import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import {
  type ProgressCounts,
  percentWords,
  progressSegments,
  progressSentence,
  type SegmentKind,
  sizeOf,
} from "./progress-segments";

/** The colour and the shape of each outcome; equal to the event's state where one exists. */
export const LOOKS: Record<SegmentKind, { fill: string; text: string; shape: ShapeName }> = {
  confirmed: { fill: "bg-confirmed", text: "text-confirmed", shape: "check" },
  unknown: { fill: "bg-redriven", text: "text-redriven", shape: "arrow" },
  passed: { fill: "bg-confirmed", text: "text-confirmed", shape: "check" },
  bounced: { fill: "bg-bounced", text: "text-bounced", shape: "return" },
  failed: { fill: "bg-danger", text: "text-danger", shape: "triangle" },
  refused: { fill: "bg-ignored", text: "text-ignored", shape: "barred" },
  held: { fill: "bg-cooling", text: "text-cooling", shape: "clock" },
  cancelled: { fill: "bg-line-strong", text: "text-faint", shape: "cross" },
  open: { fill: "bg-line", text: "text-muted", shape: "ring" },
};

/** The bar of a redrive; its accessible name says the numbers, so that it can be read without colour. */
export function SegmentedBar({ counts, className }: { counts: ProgressCounts; className?: string }) {
  return (
    <div
      role="img"
      data-bar
      aria-label={progressSentence(counts)}
      className={classNames("flex h-2 gap-px overflow-hidden rounded-sm bg-line", className)}
    >
      {progressSegments(counts).map((segment) => (
        <div
          key={segment.kind}
          className={LOOKS[segment.kind].fill}
          style={{ width: `${segment.widthPercent}%` }}
          data-tip={`${segment.label} ${formatNumber(segment.count)}`}
        />
      ))}
    </div>
  );
}

/** The legend of the bar, with the exact numbers. */
export function SegmentLegend({ counts }: { counts: ProgressCounts }) {
  return (
    <ul className="flex flex-wrap gap-x-5 gap-y-1">
      {progressSegments(counts).map((segment) => (
        <li key={segment.kind} className="flex items-center gap-1.5">
          <Shape name={LOOKS[segment.kind].shape} className={classNames("shrink-0", LOOKS[segment.kind].text)} />
          <span className="text-muted">{segment.label}</span>
          <span className="font-mono">{formatNumber(segment.count)}</span>
          <span className="text-sm text-faint">{percentWords(segment.count, sizeOf(counts))}</span>
        </li>
      ))}
    </ul>
  );
}
