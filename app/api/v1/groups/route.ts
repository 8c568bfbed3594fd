import { handle } from "@/app/_server/handle";
import { eventPageQuery } from "@/lib/contract/event-page";
import { groupListSchema } from "@/lib/contract/events";
import { listGroups } from "@/lib/store/read/group-list";

export const GET = handle({
  id: "listGroups",
  summary: "Groups with events that match, the most parked first",
  query: eventPageQuery,
  answer: groupListSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => listGroups(deps.db, viewer, query, nowMs),
});
