import * as z from "zod/mini";
import { type EventFilter, FILTER_SHAPE, fromSearchParams } from "@/lib/events/filter/event-filter.shapes";
import { EVENT_SORTS } from "@/lib/events/list/event-sort.pure";
import { pageOf } from "@/lib/platform/api/id-page.shapes";
import { type QueryOf, queryOf, type ValuesOf } from "@/lib/platform/api/query.shapes";
import { described } from "@/lib/platform/api/schemas.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";

/** The event filter, and beside it the parameters of `shape`, as in `queryOf`. */
export function filterQuery<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  codes: Partial<Record<keyof Shape, ProblemCode>> = {},
): QueryOf<{ filter: EventFilter } & ValuesOf<Shape>> {
  const own = queryOf(shape, codes);
  const names = Object.keys(shape);
  return {
    parameters: { ...FILTER_SHAPE, ...shape },
    problems: ["invalid-filter", "invalid-window", ...own.problems],
    read: (params, nowMs) => {
      const filter = fromSearchParams(params, names);
      const rest = new URLSearchParams([...params].filter(([name]) => names.includes(name)));
      return { filter, ...own.read(rest, nowMs) };
    },
  };
}

/** The order of a list, and of the neighbours of an event in it. */
export const sortShape = {
  sort: described(
    z.optional(z.enum(EVENT_SORTS, `must be one of ${EVENT_SORTS.join(", ")}`)),
    "By the time of the last failure, newest or oldest first; events without one come last. Absent = by arrival, newest first",
  ),
};

/** A page of a list whose cursor holds the filter, see `cursor.shapes.ts`. */
export const eventPageQuery = filterQuery({ ...pageOf(z.string()), ...sortShape }, { cursor: "invalid-cursor" });
