import type { EventList, ListedEvent } from "@/lib/events/events.shapes";

/** `gone`: the event no longer matches. Its row stays until the person reads the list again. */
export type ListRow = { event: ListedEvent; gone: boolean };

/** A page that was read after the list. `before`: the id of the last row above the page, null = the newest page. */
export type FreshPage = { list: EventList; before: string | null };

/**
 * How a list is ordered. By arrival, ids give the order; otherwise the loaded rows do, and an event can move. `topId`:
 * the newest row when a list by arrival was read.
 */
export type ListOrder = { sorted: boolean; topId: string | null };

/**
 * The rows to show. By arrival ids are UUIDv7 and lists are newest first, so ids give the order. New events (above `topId`, the
 * newest row when the list was read) are not shown, changed rows change in place, and rows that no longer match are
 * marked: no row moves by itself.
 */
export function shownRows(
  pages: readonly EventList[],
  fresh: readonly FreshPage[],
  { sorted, topId }: ListOrder,
): ListRow[] {
  const places = sorted ? placesOf(pages) : null;
  const now = new Map<string, ListedEvent>();
  for (const { list } of fresh) for (const event of list.items) now.set(event.id, event);
  const seen = new Set<string>();
  const rows: ListRow[] = [];
  for (const page of pages) {
    for (const event of page.items) {
      if (seen.has(event.id) || (!sorted && topId !== null && event.id > topId)) continue;
      seen.add(event.id);
      const changed = now.get(event.id);
      rows.push({ event: changed ?? event, gone: !changed && fresh.some((entry) => covers(entry, event.id, places)) });
    }
  }
  return rows;
}

const placesOf = (pages: readonly EventList[]): ReadonlyMap<string, number> =>
  new Map(pages.flatMap((page) => page.items).map(({ id }, place) => [id, place]));

/**
 * Whether a fresh page covers the position of an id, so that its absence means something. `places`: positions of the rows of a list
 * that is not ordered by id.
 */
function covers({ list, before }: FreshPage, id: string, places: ReadonlyMap<string, number> | null): boolean {
  if (places !== null) {
    const place = places.get(id)!;
    if (before !== null && place <= (places.get(before) ?? -1)) return false;
    return list.nextCursor === null || list.items.some((item) => (places.get(item.id) ?? -1) > place);
  }
  if (before !== null && id >= before) return false;
  const last = list.items.at(-1)?.id;
  return list.nextCursor === null || (last !== undefined && id >= last);
}

/**
 * The number of events that the list lacks: events that came after it was read, and events that left it and are back,
 * as after a failed redrive. `more` when the fresh page holds nothing else.
 */
export function newcomers(
  fresh: EventList | undefined,
  { sorted, topId }: ListOrder,
  pages: readonly EventList[] = [],
): { count: number; more: boolean } {
  if (!fresh) return { count: 0, more: false };
  const known = new Set(pages.flatMap((page) => page.items.map((event) => event.id)));
  if (sorted) {
    // Rows after the last known one belong to the next page.
    const upTo = fresh.items.findLastIndex(({ id }) => known.has(id)) + 1;
    const among = known.size === 0 || upTo === 0 ? fresh.items : fresh.items.slice(0, upTo);
    const count = among.filter(({ id }) => !known.has(id)).length;
    return { count, more: count === fresh.items.length && count > 0 && fresh.nextCursor !== null };
  }
  const lastPage = pages.at(-1);
  // Rows below the last loaded row are not missing: they are not read yet.
  const reachesTo = lastPage?.nextCursor === null ? "" : (lastPage?.items.at(-1)?.id ?? null);
  const isBack = (id: string) => reachesTo !== null && id > reachesTo && !known.has(id);
  const count = fresh.items.filter(({ id }) => topId === null || id > topId || isBack(id)).length;
  return { count, more: count > 0 && count === fresh.items.length && fresh.nextCursor !== null };
}

/** Rows of the last pages, each of which ended before it was full. */
export function heldByShortPages(pages: readonly EventList[]): number {
  const short = pages.slice(pages.findLastIndex(({ examinedTo }) => examinedTo === null) + 1);
  return short.reduce((sum, { items }) => sum + items.length, 0);
}

/** The page that holds a row, by its place in the list. */
export function pageOfRow(pages: readonly EventList[], rowIndex: number): number {
  let rest = rowIndex;
  for (const [index, page] of pages.entries()) {
    if (rest < page.items.length) return index;
    rest -= page.items.length;
  }
  return Math.max(0, pages.length - 1);
}
