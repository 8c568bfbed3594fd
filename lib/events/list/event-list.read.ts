import type { EventList, EventOut, Neighbours } from "@/lib/events/events.shapes";
import { scanEvents } from "@/lib/events/list/event-scan.read";
import type { EventSort } from "@/lib/events/list/event-sort.pure";
import { type FailurePlace, readFailurePlace, scanByFailure } from "@/lib/events/list/failure-order.read";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readDecidingControls } from "@/lib/order/controls/deciding-controls.read";
import { readHeldBehind } from "@/lib/order/tails/held-behind.read";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { uuidv7TimeMs } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { decodeCursor, type EventCursor, encodeCursor } from "@/lib/selection/cursor.shapes";
import { maskRows } from "@/lib/selection/event-rows.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { readScopedFilter } from "@/lib/selection/scope.read";

type EventListQuery = { filter: EventFilter; limit: number; cursor: string | null; sort?: EventSort | null };

/**
 * A page of matching events, newest first, or in the order of `sort`. Keyset-paged by id, or by time of failure and id: rows that arrive
 * meanwhile neither shift nor repeat the next pages, even when a thousand rows have the same millisecond. `prevCursor` leads to the
 * page before; null on the first page. A page whose matches are rare may end before it is full: see `examinedTo` of the answer.
 */
export async function listEvents(db: Db, viewer: Viewer, query: EventListQuery, nowMs: number): Promise<EventList> {
  const { filter, limit, sort = null } = query;
  const cursor = query.cursor === null ? null : decodeCursor(query.cursor, filter, sort);
  const towards = cursor?.towards ?? "older";
  // One row more than requested shows whether there is a further page on that side.
  const scan = { filter: await readScopedFilter(db, viewer, filter), nowMs, limit: limit + 1 };
  const byFailure = (order: EventSort) =>
    scanByFailure(db, { ...scan, ...failureScan(order, towards), from: cursor && placeOf(cursor) });
  const byId = async () => {
    const from = cursor?.id ?? null;
    const { rows, examinedTo } = await scanEvents(db, { ...scan, from, towards, flagControls: true });
    return { rows, examinedTo: examinedTo === null ? null : { id: examinedTo } };
  };
  const found: { rows: FoundEvent[]; examinedTo: Place | null } = await (sort === null ? byId() : byFailure(sort));
  const more = found.rows.length > limit;
  const rows = found.rows.slice(0, limit);
  if (towards === "newer") rows.reverse();
  const [masks, controls, held] = await Promise.all([
    readMasks(db),
    rows[0]?.control === true ? readDecidingControls(db, rows, nowMs) : null,
    readHeldBehind(db, rows),
  ]);
  const at = (row: Place | undefined, side: "older" | "newer") =>
    row === undefined ? null : encodeCursor({ id: row.id, towards: side, failedUs: row.failedUs }, filter, sort);
  const [first, last] = [at(rows[0], "newer"), at(rows.at(-1), "older")];
  // Changed in place: a copy of fifty rows takes as long as the read.
  const items = rows as EventList["items"];
  maskRows(masks, items);
  for (const item of items) {
    item.control = controls?.get(item.id) ?? null;
    item.heldBehind = held.get(item.id) ?? null;
    delete (item as FoundEvent).failedUs;
  }
  const { examinedTo } = found;
  /** Where the page after this one starts, on the side that was read. */
  const further = more ? { older: last, newer: first }[towards] : examinedTo && at(examinedTo, towards);
  return {
    items,
    nextCursor: towards === "newer" ? last : further,
    prevCursor: towards === "newer" ? further : cursor && first,
    examinedTo: examinedTo && iso(timeMsOf(examinedTo)),
  };
}

type FoundEvent = EventOut & { control?: unknown; failedUs?: string | null | undefined };

type Place = Pick<FoundEvent, "id" | "failedUs">;

/** Of the last failure in a list of that order, otherwise of the arrival. */
const timeMsOf = ({ id, failedUs }: Place) => (failedUs ? Number(failedUs) / 1000 : uuidv7TimeMs(id));

const failureScan = (sort: EventSort, towards: "older" | "newer") => ({
  newestFirst: sort === "failedNewest",
  backwards: towards === "newer",
});

const placeOf = ({ id, failedUs = null }: EventCursor): FailurePlace => ({ id, failedUs });

/**
 * The events before (newer) and after (older) an event in the filtered list, even if the event itself does not match.
 */
export async function readNeighbours(
  db: Queryable,
  viewer: Viewer,
  id: string,
  { filter, sort = null }: Pick<EventListQuery, "filter" | "sort">,
  nowMs: number,
): Promise<Neighbours> {
  const scan = { filter: await readScopedFilter(db, viewer, filter), nowMs, limit: 1 };
  const place = sort === null ? null : await readFailurePlace(db, id);
  const one = async (towards: "older" | "newer") => {
    const [found] =
      sort === null || place === null
        ? (await scanEvents(db, { ...scan, from: id, towards })).rows
        : (await scanByFailure(db, { ...scan, ...failureScan(sort, towards), from: place })).rows;
    return found?.id ?? null;
  };
  const [previous, next] = await Promise.all([one("newer"), one("older")]);
  return { previous, next };
}
