import type { Markers } from "@/lib/observe/stats/stats.shapes";

export type MarkerGroup = {
  atMs: number;
  items: Markers["items"];
  /** The kinds of the markers in the group, shown beside the line. */
  kinds: Markers["items"][number]["kind"][];
};

type MarkerKind = Markers["items"][number]["kind"];

export const MARKER_GLYPH: Record<MarkerKind, string> = {
  deploy: "▼",
  incident: "✕",
  alert: "!",
  redrive: "▲",
  control: "■",
  note: "◆",
};

const MARKER_WORDS: Record<MarkerKind, string> = {
  deploy: "a deployment",
  incident: "an incident",
  alert: "an alert fired",
  redrive: "a redrive began",
  control: "a control was imposed",
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
 */
export function groupMarkers(items: Markers["items"], nearMs: number): MarkerGroup[] {
  const ordered = [...items].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const groups: MarkerGroup[] = [];
  for (const item of ordered) {
    const atMs = Date.parse(item.at);
    const open = groups.at(-1);
    if (open && atMs - open.atMs < nearMs) {
      open.items.push(item);
      if (!open.kinds.includes(item.kind)) open.kinds.push(item.kind);
    } else groups.push({ atMs, items: [item], kinds: [item.kind] });
  }
  return groups;
}

/** The window of a drag; null for a press without a movement. */
export function draggedWindow(fromMs: number | null, toMs: number | null) {
  if (fromMs === null || toMs === null || fromMs === toMs) return null;
  return { fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs) };
}
