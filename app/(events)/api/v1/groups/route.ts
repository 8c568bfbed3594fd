import { handle } from "@/app/_server/handle";
import { withSourceHints } from "@/app/_server/named-sources";
import { groupListSchema } from "@/lib/events/events.shapes";
import { listGroups } from "@/lib/events/groups/group-list.read";
import { eventPageQuery } from "@/lib/events/list/event-page.shapes";

export const GET = handle({
  id: "listGroups",
  summary: "Groups with events that match, the most parked first",
  query: eventPageQuery,
  answer: groupListSchema,
  coalesce: true,
  run: async (call) => {
    const { deps, viewer, query, nowMs } = call;
    return withSourceHints(call, { sources: query.filter.source }, await listGroups(deps.db, viewer, query, nowMs));
  },
});
