import { handle } from "@/app/_server/handle";
import { deleteRecipe } from "@/lib/operations/save-recipe";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "deleteRecipe",
  summary: "Delete a recipe in all its versions; the audit keeps them",
  params: byId("unknown-recipe"),
  run: ({ deps, params, viewer }) => deleteRecipe(deps, params.id, viewer),
});
