import { handle } from "@/app/_server/handle";
import { withSourceHints } from "@/app/_server/named-sources";
import { groupListSchema } from "@/lib/events/events.shapes";
import { listGroups } from "@/lib/events/groups/group-list.read";
import type { Verdict } from "@/lib/events/groups/group-verdict.pure";
import { groupPageQuery } from "@/lib/events/groups/groups.shapes";

export const GET = handle({
  id: "listGroups",
  summary: "Groups with events that match, those with the most parked events first",
  query: groupPageQuery,
  answer: groupListSchema,
  coalesce: true,
  run: async (call) => {
    const { deps, viewer, query, nowMs } = call;
    const verdicts = query.verdict === null ? null : (query.verdict.split(",") as Verdict[]);
    const list = await listGroups(deps.db, viewer, { ...query, verdicts }, nowMs);
    return withSourceHints(call, { sources: query.filter.source, excluded: query.filter["not.source"] }, list);
  },
});
