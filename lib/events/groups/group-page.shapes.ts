import * as z from "zod/mini";
import { filterQuery } from "@/lib/events/list/event-page.shapes";
import { VERDICTS } from "@/lib/observe/group-verdict.pure";
import { pageOf } from "@/lib/platform/api/id-page.shapes";
import { described, listText } from "@/lib/platform/api/schemas.shapes";

const GROUP_SORTS = ["count", "last"] as const;
export type GroupSort = (typeof GROUP_SORTS)[number];

/** GET /api/v1/groups: the filter of events, and the order of the groups. */
export const groupPageQuery = filterQuery(
  {
    ...pageOf(z.string()),
    sort: described(
      z.optional(z.enum(GROUP_SORTS, `must be one of ${GROUP_SORTS.join(", ")}`)),
      "`count`: those with the most parked events first; `last`: those that failed last. Absent = count",
    ),
    verdict: described(
      z.optional(listText(VERDICTS)),
      "Groups of which the arrivals in the window say one of these, with commas between them",
    ),
  },
  { cursor: "invalid-cursor" },
);
