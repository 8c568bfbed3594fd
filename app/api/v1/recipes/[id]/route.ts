import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/contract/query";
import { deleteRecipe } from "@/lib/operations/save-recipe";

export const DELETE = handle({
  id: "deleteRecipe",
  summary: "Delete a recipe in all its versions; the audit keeps them",
  params: byId("unknown-recipe"),
  run: ({ deps, params, viewer }) => deleteRecipe(deps, params.id, viewer),
});
