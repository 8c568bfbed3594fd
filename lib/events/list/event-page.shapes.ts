import * as z from "zod/mini";
import { EVENT_SORTS } from "@/lib/events/list/event-sort.pure";
import { pageOf } from "@/lib/platform/api/id-page.shapes";
import { described } from "@/lib/platform/api/schemas.shapes";
import { filterQuery } from "@/lib/selection/filter/event-filter.shapes";

/** The order of a list, and of the neighbours of an event in it. */
export const sortShape = {
  sort: described(
    z.optional(z.enum(EVENT_SORTS, `must be one of ${EVENT_SORTS.join(", ")}`)),
    "By the time of the last failure, newest or oldest first; events without one come last. Absent = by arrival, newest first",
  ),
};

/** A page of a list whose cursor holds the filter, see `cursor.shapes.ts`. */
export const eventPageQuery = filterQuery({ ...pageOf(z.string()), ...sortShape }, { cursor: "invalid-cursor" });
