import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { nameTaken, takingName } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { compileRecipe } from "@/lib/repair/recipes/apply-recipe";
import { savedRecipeOut, seesRecipe, unknownRecipe } from "@/lib/repair/recipes/recipes.read";
import type { SavedRecipe, SaveRecipeRequest } from "@/lib/repair/recipes/recipes.shapes";

/**
 * Saves a recipe; under a known name as its next version. Throws DomainError `invalid-recipe`, `forbidden`,
 * `unknown-source`, and `name-taken` when a recipe of this name belongs to another source, or somebody saves it at this moment.
 */
export async function saveRecipe(
  deps: LowRateDeps,
  { name, recipe, source }: SaveRecipeRequest,
  viewer: Viewer,
): Promise<SavedRecipe> {
  assertMay(viewer, "edit", source === null ? "all" : [source]);
  // The size of payloads is that of its use.
  compileRecipe(deps, recipe, 0);
  const nowMs = deps.clock.wallMs();
  return takingName("recipe", name, () =>
    deps.lowRate.write(async ({ prisma, audit }) => {
      if (source !== null && !(await prisma.source.findUnique({ where: { name: source } }))) {
        throw unknownSource(source, "source");
      }
      const last = await prisma.recipe.findFirst({ where: { name }, orderBy: { version: "desc" } });
      if (last && last.source !== source) throw nameTaken("recipe", name);
      const version = (last?.version ?? 0) + 1;
      const row = await prisma.recipe.create({
        data: { id: uuidv7(nowMs), name, version, recipe: recipe as object, source, createdBy: viewer.name },
      });
      await audit({
        actor: viewer.name,
        action: "recipe.saved",
        subjectId: name,
        before: last && { version: last.version, recipe: last.recipe, source },
        after: { version, recipe, source },
        atMs: nowMs,
      });
      return savedRecipeOut(row);
    }),
  );
}

/** Deletes all versions. Throws DomainError `unknown-recipe`, `forbidden`. */
export async function deleteRecipe(deps: LowRateDeps, id: string, viewer: Viewer): Promise<void> {
  assertMay(viewer, "edit");
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const recipe = await prisma.recipe.findUnique({ where: { id } });
    if (!recipe || !seesRecipe(viewer, recipe)) throw unknownRecipe(id);
    const { name, source } = recipe;
    assertMay(viewer, "edit", source === null ? "all" : [source]);
    const { count } = await prisma.recipe.deleteMany({ where: { name } });
    await audit({
      actor: viewer.name,
      action: "recipe.deleted",
      subjectId: name,
      before: { recipe: recipe.recipe, source, versions: count },
      atMs: deps.clock.wallMs(),
    });
  });
}
