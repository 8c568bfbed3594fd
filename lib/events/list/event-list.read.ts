import type { EventList, Neighbours } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { inTime } from "@/lib/events/list/event-count.read";
import { maskRows } from "@/lib/events/list/event-rows.read";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readScopedFilter } from "@/lib/guard/viewer/scope.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readDecidingControls } from "@/lib/order/controls/deciding-controls.read";
import { readHeldBehind } from "@/lib/order/tails/held-behind.read";
import { decodeCursor, encodeCursor } from "@/lib/platform/api/cursor.shapes";
import type { Db, Queryable } from "@/lib/platform/database/db";

type EventListQuery = { filter: EventFilter; limit: number; cursor: string | null };

/**
 * A page of matching events, newest first. Keyset-paged by id: rows that arrive meanwhile neither shift nor repeat the
 * next pages, even when a thousand rows have the same millisecond. `prevCursor` leads to newer rows; null on the first
 * page.
 */
export async function listEvents(db: Db, viewer: Viewer, query: EventListQuery, nowMs: number): Promise<EventList> {
  const { filter, limit } = query;
  const cursor = query.cursor === null ? null : decodeCursor(query.cursor, filter);
  const towards = cursor?.towards ?? "older";
  // One row more than requested shows whether there is a further page on that side.
  const found = await scanEvents(db, {
    filter: await readScopedFilter(db, viewer, filter),
    nowMs,
    from: cursor?.id ?? null,
    towards,
    limit: limit + 1,
    flagControls: true,
  });
  const more = found.length > limit;
  const rows = found.slice(0, limit);
  if (towards === "newer") rows.reverse();
  const [masks, controls, held] = await Promise.all([
    readMasks(db),
    rows[0]?.control === true ? readDecidingControls(db, rows, nowMs) : null,
    readHeldBehind(db, rows, (read) => inTime(db, read)),
  ]);
  // Changed in place: a copy of fifty rows takes as long as the read.
  const items = rows as EventList["items"];
  maskRows(masks, items);
  for (const item of items) {
    item.control = controls?.get(item.id) ?? null;
    item.heldBehind = held.get(item.id) ?? null;
  }
  const at = (id: string | undefined, side: "older" | "newer") =>
    id === undefined ? null : encodeCursor({ id, towards: side }, filter);
  const hasOlder = towards === "newer" || more;
  const hasNewer = towards === "newer" ? more : cursor !== null;
  return {
    items,
    nextCursor: hasOlder ? at(rows.at(-1)?.id, "older") : null,
    prevCursor: hasNewer ? at(rows[0]?.id, "newer") : null,
  };
}

/**
 * The events before (newer) and after (older) an event in the filtered list, even if the event itself does not match.
 */
export async function readNeighbours(
  db: Queryable,
  viewer: Viewer,
  id: string,
  filter: EventFilter,
  nowMs: number,
): Promise<Neighbours> {
  const scoped = await readScopedFilter(db, viewer, filter);
  const one = async (towards: "older" | "newer") =>
    (await scanEvents(db, { filter: scoped, nowMs, from: id, towards, limit: 1 }))[0]?.id ?? null;
  const [previous, next] = await Promise.all([one("newer"), one("older")]);
  return { previous, next };
}
