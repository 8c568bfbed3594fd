import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { deleteRecipe } from "@/lib/repair/recipes/save-recipe";

export const DELETE = handle({
  id: "deleteRecipe",
  summary: "Delete a recipe in all its versions; the audit keeps them",
  params: byId("unknown-recipe"),
  run: ({ deps, params, viewer }) => deleteRecipe(deps, params.id, viewer),
});
