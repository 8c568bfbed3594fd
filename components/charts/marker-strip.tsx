import { PopoverButton } from "@/components/ui/popup-button";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute } from "@/lib/platform/plain/format.pure";
import { groupLabel, MARKER_GLYPH, MARKER_WORDS, type MarkerGroup } from "./marker-layout";
import { AXIS_WIDTH, CHART_MARGIN } from "./time-axis";

type Placed = MarkerGroup & { share: number };

/** Glyphs of a group before its count: more would cover the next group. */
const GLYPHS_MAX = 2;

/** The marks above a chart, at their times: hover and focus say what happened, a press lists it with links. */
export function MarkerStrip({ groups }: { groups: readonly Placed[] }) {
  if (groups.length === 0) return null;
  const left = AXIS_WIDTH + CHART_MARGIN.left;
  return (
    <ul aria-label="What happened in this time" className="relative h-6 shrink-0">
      {groups.map((group) => (
        <li
          key={`${group.items[0]!.kind}-${group.items[0]!.id}`}
          className="absolute top-0 -translate-x-1/2"
          style={{ left: `calc(${left}px + (100% - ${left + CHART_MARGIN.right}px) * ${group.share})` }}
        >
          <PopoverButton
            size="sm"
            variant="ghost"
            className="h-6! min-w-6 px-0.5! text-xs text-muted"
            label={<Glyphs group={group} />}
            name={groupLabel(group)}
            tip={groupLabel(group)}
            panelClassName="max-w-80"
          >
            {() => <MarkerList items={group.items} />}
          </PopoverButton>
        </li>
      ))}
    </ul>
  );
}

function Glyphs({ group: { items, kinds } }: { group: MarkerGroup }) {
  return (
    <span aria-hidden className="whitespace-nowrap">
      {kinds.slice(0, GLYPHS_MAX).map((kind) => MARKER_GLYPH[kind])}
      {items.length > 1 ? items.length : null}
    </span>
  );
}

export function MarkerList({ items }: { items: MarkerGroup["items"] }) {
  const zone = useZone();
  return (
    <ul className="grid max-h-64 gap-1.5 overflow-y-auto">
      {items.map(({ id, kind, at, label, href }) => (
        <li key={`${kind}-${id}`} className="wrap-anywhere">
          <span className="text-sm text-muted">
            <span aria-hidden>{MARKER_GLYPH[kind]} </span>
            {formatAbsolute(Date.parse(at), zone)}, {MARKER_WORDS[kind]}
          </span>
          <span className="block">
            {href === null ? (
              label
            ) : (
              <a
                href={href}
                {...(href.startsWith("/") ? {} : { target: "_blank", rel: "noreferrer noopener" })}
                className="inline-block min-h-6 text-accent hover:underline"
              >
                {label}
              </a>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
