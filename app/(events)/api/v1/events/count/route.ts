import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { eventCountsSchema } from "@/lib/events/events.shapes";
import { countEvents } from "@/lib/events/list/event-count.read";
import { filterQuery } from "@/lib/selection/filter/event-filter.shapes";

export const GET = handle({
  id: "countEvents",
  summary: "How many events match: exact, estimated or at least",
  query: filterQuery({}),
  answer: eventCountsSchema,
  coalesce: true,
  run: (call) => readHinted(call, (db, viewer, { filter }, nowMs) => countEvents(db, viewer, filter, nowMs)),
});
