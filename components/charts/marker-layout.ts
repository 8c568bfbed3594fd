import type { Markers } from "@/lib/observe/stats/stats.shapes";

/** `paused` and `resumed`: the redrive that a chart is about. */
type MarkerKind = Markers["items"][number]["kind"] | "paused" | "resumed";
export type Marker = Omit<Markers["items"][number], "kind"> & { kind: MarkerKind };

export type MarkerGroup = {
  atMs: number;
  items: Marker[];
  /** The kinds of the markers in the group, shown beside the line. */
  kinds: MarkerKind[];
};

export const MARKER_GLYPH: Record<MarkerKind, string> = {
  deploy: "▼",
  incident: "✕",
  alert: "!",
  "alert-resolved": "✓",
  redrive: "▲",
  "redrive-ended": "△",
  paused: "‖",
  resumed: "▶",
  control: "■",
  note: "◆",
};

export const MARKER_WORDS: Record<MarkerKind, string> = {
  deploy: "a deployment",
  incident: "an incident",
  alert: "an alert fired",
  "alert-resolved": "an alert was resolved",
  redrive: "a redrive began",
  "redrive-ended": "a redrive ended",
  paused: "the redrive was paused",
  resumed: "the redrive was resumed",
  control: "a control was added",
  note: "a note",
};
const KINDS = Object.keys(MARKER_GLYPH) as MarkerKind[];

/** What the marks on the chart mean, of the kinds that it shows. */
export function markerLegend(groups: readonly MarkerGroup[]) {
  return KINDS.filter((kind) => groups.some(({ kinds }) => kinds.includes(kind))).map((kind) => ({
    key: kind,
    label: MARKER_WORDS[kind],
    colour: "var(--muted)",
    glyph: MARKER_GLYPH[kind],
  }));
}

/**
 * Markers that would overlap become one group: twenty redrives in a minute are one line.
 *
 * @param nearMs markers closer than this to the first marker of a group join the group
 * @param lastMs later markers stand here
 */
export function groupMarkers(
  items: readonly Marker[],
  nearMs: number,
  lastMs = Number.POSITIVE_INFINITY,
): MarkerGroup[] {
  const ordered = [...items].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const groups: MarkerGroup[] = [];
  for (const item of ordered) {
    const atMs = Math.min(Date.parse(item.at), lastMs);
    const open = groups.at(-1);
    if (open && atMs - open.atMs < nearMs) {
      open.items.push(item);
      if (!open.kinds.includes(item.kind)) open.kinds.push(item.kind);
    } else groups.push({ atMs, items: [item], kinds: [item.kind] });
  }
  return groups;
}

/** The width of two glyphs and a count: closer marks would overlap. */
const MARK_PX = 40;

/** The groups on a chart of this width from its first to its last row, each with its place from 0 to 1. */
export function placedMarkers(
  items: readonly Marker[],
  { fromMs, toMs, widthPx }: { fromMs: number; toMs: number; widthPx: number },
): (MarkerGroup & { share: number })[] {
  const spanMs = toMs - fromMs;
  if (spanMs <= 0) return [];
  // A row may stand for the time behind it: what lies behind the last row is of its bucket.
  const inside = items.filter(({ at }) => Date.parse(at) >= fromMs);
  return groupMarkers(inside, (spanMs * MARK_PX) / Math.max(widthPx, MARK_PX), toMs).map((group) => ({
    ...group,
    share: (group.atMs - fromMs) / spanMs,
  }));
}

/** `a deployment: orders 4.17.0`; of several: `3 marks: a deployment, 2 × a redrive began`. */
export function groupLabel({ items, kinds }: MarkerGroup): string {
  if (items.length === 1) return `${MARKER_WORDS[items[0]!.kind]}: ${items[0]!.label}`;
  const counted = kinds.map((kind) => {
    const count = items.filter((item) => item.kind === kind).length;
    return count === 1 ? MARKER_WORDS[kind] : `${count} × ${MARKER_WORDS[kind]}`;
  });
  return `${items.length} marks: ${counted.join(", ")}`;
}

/** The window of a drag; null for a press without a movement. */
export function draggedWindow(fromMs: number | null, toMs: number | null) {
  if (fromMs === null || toMs === null || fromMs === toMs) return null;
  return { fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs) };
}
