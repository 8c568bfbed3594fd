import { handle } from "@/app/_server/handle";
import { listRecipes } from "@/lib/repair/recipes/recipes.read";
import { recipeListSchema, savedRecipeSchema, saveRecipeSchema } from "@/lib/repair/recipes/recipes.shapes";
import { saveRecipe } from "@/lib/repair/recipes/save-recipe";

export const GET = handle({
  id: "listRecipes",
  summary: "Recipes with a name, in their newest versions",
  answer: recipeListSchema,
  run: ({ deps, viewer }) => listRecipes(deps, viewer),
});

export const POST = handle({
  id: "saveRecipe",
  summary: "Save a recipe; under a known name it is the next version",
  body: saveRecipeSchema,
  creates: ["deleteRecipe"],
  answer: savedRecipeSchema,
  problems: ["invalid-recipe", "name-taken", "unknown-source"],
  run: (call) => saveRecipe(call.deps, call.body, call.viewer),
});
