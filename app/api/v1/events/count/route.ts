import { handle } from "@/app/_server/handle";
import { fromSearchParams } from "@/lib/contract/event-filter";
import { countEvents } from "@/lib/store/read/event-count";

export const GET = handle({
  query: (params) => fromSearchParams(params),
  run: ({ deps, viewer, query, nowMs }) => countEvents(deps.db, viewer, query, nowMs),
});
