import type { Markers } from "@/lib/contract/stats";

export type MarkerGroup = {
  atMs: number;
  items: Markers["items"];
  /** Shown beside the line: the kinds present. */
  kinds: Markers["items"][number]["kind"][];
};

/**
 * Markers that would be drawn on top of each other share one: twenty redrives in a minute are one line that says so.
 *
 * @param nearMs markers closer than this to the first of a group join it
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

/** What a pointer was dragged over, as a window; null for a click that did not move. */
export function draggedWindow(fromMs: number | null, toMs: number | null) {
  if (fromMs === null || toMs === null || fromMs === toMs) return null;
  return { fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs) };
}
