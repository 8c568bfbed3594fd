import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import type { GroupOut } from "@/lib/events/events.shapes";
import { type Verdict, verdictWords } from "@/lib/events/groups/group-verdict.pure";
import { formatNumber } from "@/lib/platform/plain/format.pure";

/** The shape and the colour of each verdict, equal on every page. */
const LOOKS: Record<Verdict, { shape: ShapeName; colour: string }> = {
  new: { shape: "square", colour: "text-warning" },
  back: { shape: "return", colour: "text-bounced" },
  rising: { shape: "triangle", colour: "text-warning" },
  steady: { shape: "ring", colour: "text-muted" },
  falling: { shape: "fall", colour: "text-muted" },
};

/** How what arrived compares with what usually arrives, with the numbers on hover. */
export function VerdictBadge({ group }: { group: Pick<GroupOut, "arrivals" | "verdict"> }) {
  const { arrivals, verdict } = group;
  const { shape, colour } = LOOKS[verdict];
  return (
    <span
      className={classNames("inline-flex min-w-0 items-center gap-1.5 whitespace-nowrap", colour)}
      data-tip={`${formatNumber(arrivals.count)} arrived in the window\n${usualText(arrivals)}`}
    >
      <Shape name={shape} />
      <span className="truncate">{verdictWords({ verdict, factor: arrivals.factor })}</span>
    </span>
  );
}

function usualText({ usual, spread }: GroupOut["arrivals"]): string {
  if (usual === null) return "not enough history to tell what is usual";
  return `usual in the same hours: ${formatNumber(Math.round(usual))} ± ${formatNumber(Math.round(spread ?? 0))}`;
}
