import { handle } from "@/app/_server/handle";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { countMend } from "@/lib/repair/mends/preview-mend";
import { mendCountRequestSchema, mendCountsSchema } from "@/lib/repair/recipes/recipes.shapes";

export const POST = handle({
  id: "countMend",
  summary: "How many events a recipe would change, break or fail for: each call counts on for a second; stores nothing",
  body: mendCountRequestSchema,
  answer: mendCountsSchema,
  problems: [...SELECT_PROBLEMS, "invalid-recipe", "invalid-cursor"],
  run: ({ deps, body, viewer, request }) => countMend(deps, body, viewer, request.signal),
});
