import { handle } from "@/app/_server/handle";
import { filterQuery } from "@/lib/contract/event-page";
import { neighboursSchema } from "@/lib/contract/events";
import { byId } from "@/lib/platform/api/query.shapes";
import { readNeighbours } from "@/lib/store/read/event-list";

export const GET = handle({
  id: "readNeighbours",
  summary: "Previous and next event in the filtered list",
  params: byId("unknown-event"),
  query: filterQuery({}),
  answer: neighboursSchema,
  run: ({ deps, viewer, params, query, nowMs }) => readNeighbours(deps.lists, viewer, params.id, query.filter, nowMs),
});
