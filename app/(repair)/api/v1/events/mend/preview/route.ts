import { handle } from "@/app/_server/handle";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { previewMend } from "@/lib/repair/mends/preview-mend";
import { mendPageSchema, mendPreviewSchema } from "@/lib/repair/recipes/recipes.shapes";

export const POST = handle({
  id: "previewMend",
  summary: "What a recipe would do to each selected event, page by page; stores nothing",
  body: mendPreviewSchema,
  answer: mendPageSchema,
  problems: [...SELECT_PROBLEMS, "invalid-recipe", "invalid-cursor"],
  run: ({ deps, body, viewer, request }) => previewMend(deps, body, viewer, request.signal),
});
