import { handle } from "@/app/_server/handle";
import { comparisonQuery, comparisonSchema } from "@/lib/contract/comparison";
import { byId, queryOf } from "@/lib/platform/api/query.shapes";
import { compareRedrives } from "@/lib/store/read/compare-redrives";

export const GET = handle({
  id: "compareRedrives",
  summary: "What a dry run says against an earlier one of the same events",
  params: byId("unknown-redrive"),
  query: queryOf(comparisonQuery),
  answer: comparisonSchema,
  run: ({ deps, viewer, params: { id }, query }) => compareRedrives(deps.db, viewer, { id, other: query.with }),
});
