import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { redactRecipe } from "@/lib/guard/redaction/redact-recipe.pure";
import { may, sees, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { Recipe as Row } from "@/lib/platform/database/generated/client";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { RecipeList, SavedRecipe } from "@/lib/repair/recipes/recipes.shapes";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";

/** Maximum number of recipes: more than a menu can show. */
const RECIPES_MAX = 500;

/** The newest version of each, by name. */
export async function listRecipes(
  { lowRate, db }: { lowRate: LowRateStore; db: Queryable },
  viewer: Viewer,
): Promise<RecipeList> {
  const scope = sourceScope(viewer);
  const rows = await lowRate.read((client) =>
    client.recipe.findMany({
      distinct: ["name"],
      orderBy: [{ name: "asc" }, { version: "desc" }],
      where: scope === null ? {} : { OR: [{ source: null }, { source: { in: scope } }] },
      take: RECIPES_MAX,
    }),
  );
  const items = rows.map(savedRecipeOut);
  if (may(viewer, "reveal")) return { items };
  const masks = await readMasks(db);
  return {
    items: items.map((item) => ({ ...item, recipe: redactRecipe(item.recipe, masks.of(item.source)) as Recipe })),
  };
}

export function unknownRecipe(id: string): DomainError {
  return new DomainError("unknown-recipe", `There is no recipe ${id}`, {
    fields: [{ field: "id", detail: "list the recipes with GET /api/v1/recipes" }],
  });
}

export function seesRecipe(viewer: Viewer, { source }: Pick<Row, "source">): boolean {
  return source === null || sees(viewer, source);
}

export function savedRecipeOut({ id, name, version, recipe, source, createdBy, createdAt }: Row): SavedRecipe {
  return { id, name, version, recipe: recipe as Recipe, source, createdBy, createdAt: createdAt.toISOString() };
}
