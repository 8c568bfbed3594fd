import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
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
  idempotent: true,
  status: 201,
  answer: savedRecipeSchema,
  problems: ["invalid-recipe", "name-taken", "unknown-source"],
  links: { deleteRecipe: BODY_ID },
  run: (call) => saveRecipe(call.deps, call.body, call.viewer),
});
