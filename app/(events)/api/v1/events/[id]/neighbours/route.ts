import { handle } from "@/app/_server/handle";
import { neighboursSchema } from "@/lib/events/events.shapes";
import { readNeighbours } from "@/lib/events/list/event-list.read";
import { sortShape } from "@/lib/events/list/event-page.shapes";
import { byId } from "@/lib/platform/api/query.shapes";
import { filterQuery } from "@/lib/selection/filter/event-filter.shapes";

export const GET = handle({
  id: "readNeighbours",
  summary: "Previous and next event in the filtered list",
  params: byId("unknown-event"),
  query: filterQuery(sortShape),
  answer: neighboursSchema,
  run: ({ deps, viewer, params, query, nowMs }) => readNeighbours(deps.lists, viewer, params.id, query, nowMs),
});
