import { handle } from "@/app/_server/handle";
import { withSourceHints } from "@/app/_server/named-sources";
import { readDifferences } from "@/lib/observe/stats/differences.read";
import { differencesQuery, differencesSchema } from "@/lib/observe/stats/differences.shapes";

export const GET = handle({
  id: "readDifferences",
  summary: "Groups that are new, rising, falling, returned or gone, against an hour, a day or a week ago",
  query: differencesQuery,
  answer: differencesSchema,
  coalesce: true,
  run: async (call) => {
    const { deps, viewer, query, nowMs } = call;
    const sources = query.source === null ? undefined : [query.source];
    return withSourceHints(call, { sources }, await readDifferences(deps.db, viewer, query, nowMs));
  },
});
