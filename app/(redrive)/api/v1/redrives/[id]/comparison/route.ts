import { handle } from "@/app/_server/handle";
import { byId, queryOf } from "@/lib/platform/api/query.shapes";
import { compareRedrives } from "@/lib/redrive/list/compare-redrives.read";
import { comparisonQuery, comparisonSchema } from "@/lib/redrive/list/comparison.shapes";

export const GET = handle({
  id: "compareRedrives",
  summary: "What a dry run says against an earlier one of the same events",
  params: byId("unknown-redrive"),
  query: queryOf(comparisonQuery),
  answer: comparisonSchema,
  run: ({ deps, viewer, params: { id }, query }) => compareRedrives(deps.db, viewer, { id, other: query.with }),
});
