import { handle } from "@/app/_server/handle";
import { filterQuery } from "@/lib/contract/event-page";
import { eventCountsSchema } from "@/lib/contract/events";
import { countEvents } from "@/lib/store/read/event-count";

export const GET = handle({
  id: "countEvents",
  summary: "How many events match: exact, estimated or at least",
  query: filterQuery({}),
  answer: eventCountsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => countEvents(deps.db, viewer, query.filter, nowMs),
});
