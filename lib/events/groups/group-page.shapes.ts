import * as z from "zod/mini";
import { GROUP_SORTS } from "@/lib/events/groups/group-order.pure";
import { filterQuery } from "@/lib/events/list/event-page.shapes";
import { VERDICTS } from "@/lib/observe/group-verdict.pure";
import { pageOf } from "@/lib/platform/api/id-page.shapes";
import { described, listText } from "@/lib/platform/api/schemas.shapes";

/** GET /api/v1/groups: the filter of events, and the order of the groups. */
export const groupPageQuery = filterQuery(
  {
    ...pageOf(z.string()),
    sort: described(
      z.optional(z.enum(GROUP_SORTS, `must be one of ${GROUP_SORTS.join(", ")}`)),
      "What the groups are ordered by; absent = rise",
    ),
    order: described(
      z.optional(z.enum(["asc", "desc"], "must be asc or desc")),
      "Absent = ascending by code and source, descending by the others",
    ),
    verdict: described(
      z.optional(listText(VERDICTS)),
      "Groups of which the arrivals in the window say one of these, with commas between them",
    ),
  },
  { cursor: "invalid-cursor" },
);
