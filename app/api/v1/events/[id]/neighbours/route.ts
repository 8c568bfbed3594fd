import { handle } from "@/app/_server/handle";
import { fromSearchParams } from "@/lib/contract/event-filter";
import { idParam } from "@/lib/contract/id-page";
import { readNeighbours } from "@/lib/store/read/event-list";

export const GET = handle({
  query: (params) => fromSearchParams(params),
  run: ({ deps, viewer, params, query, nowMs }) =>
    readNeighbours(deps.lists, viewer, idParam(params.id, "unknown-event"), query, nowMs),
});
