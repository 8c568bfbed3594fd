import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Call, countText, printAnswer, selectOf } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { confirmed } from "@/lib/cli/confirm";
import { followOperation } from "@/lib/cli/follow";
import { factsText, tableText } from "@/lib/cli/table";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { MendCounts, MendItem, Recipe, RecipeList, SavedRecipe } from "@/lib/repair/recipes/recipes.shapes";

const RECIPES = "api/v1/recipes";

/** Counts first what the recipe does: the number that a person confirms is that of the events that would change. */
export async function mend(call: Call): Promise<number> {
  const { line, api } = call;
  const select = await selectOf(call);
  const recipe = await recipeOf(call);
  const breaking = line.flag("breaking");
  if (line.flag("preview") || !line.flag("yes")) {
    const { counts, samples } = await countAll(call, { select, recipe });
    if (line.flag("preview")) {
      await printAnswer(call, { ...counts, samples }, () => previewText(call, counts, samples));
      return counts.changed > 0 ? EXIT.done : EXIT.refused;
    }
    call.terminal.say(previewText(call, counts, samples));
    const changes = counts.changed + (breaking ? counts.breaksSchema : 0);
    if (!(await confirmed(call, "Mend", changes))) return EXIT.refused;
  }
  const body = { select, recipe, reason: line.text("reason"), breaking };
  return begin(call, await api.change<BulkAnswer>("api/v1/events/mend", { method: "POST", body, key: keyOf(call) }));
}

export async function undoMend(call: Call): Promise<number> {
  const { line, api } = call;
  const body = { select: { operation: line.arguments[0] }, reason: line.text("reason") };
  return begin(
    call,
    await api.change<BulkAnswer>("api/v1/events/undo-mend", { method: "POST", body, key: keyOf(call) }),
  );
}

const keyOf = ({ line }: Call) => line.text("idempotency-key") ?? randomUUID();

async function begin(call: Call, answer: BulkAnswer): Promise<number> {
  call.terminal.say(`Bulk operation ${answer.id}: a worker revises the events.`);
  if (!call.line.flag("detach")) return followOperation(call, answer.id!);
  await printAnswer(call, answer, () => `${answer.id}\n`);
  return EXIT.done;
}

type Counted = { counts: MendCounts; samples: MendItem[] };

async function countAll({ api, terminal }: Call, request: { select: unknown; recipe: Recipe }): Promise<Counted> {
  const samples: MendItem[] = [];
  for (let cursor: string | null = null; ; ) {
    const body = cursor === null ? request : { ...request, cursor };
    const counts: MendCounts = await api.change<MendCounts>("api/v1/events/mend/count", { method: "POST", body });
    if (samples.length === 0) samples.push(...counts.samples);
    if (counts.nextCursor === null) return { counts, samples };
    terminal.progress(`${formatNumber(counts.looked)} looked at, ${formatNumber(counts.changed)} would change`);
    cursor = counts.nextCursor;
  }
}

function previewText({ terminal }: Call, counts: MendCounts, samples: readonly MendItem[]): string {
  const sum = (by: Record<string, number>) => Object.values(by).reduce((all, count) => all + count, 0);
  const facts = factsText([
    ["would change", formatNumber(counts.changed)],
    ["unchanged", formatNumber(counts.unchanged)],
    ["break their schema", counts.breaksSchema || null],
    ["fail", sum(counts.failed) === 0 ? null : countText(sum(counts.failed), counts.failed)],
    ["refused", sum(counts.refused) === 0 ? null : countText(sum(counts.refused), counts.refused)],
  ]);
  const rows = samples.flatMap((item) =>
    item.differences.length === 0
      ? item.detail === null
        ? []
        : [{ ...item, at: "", change: item.detail }]
      : item.differences.map(({ at, before, after }) => ({
          ...item,
          at,
          change: `${before ?? "-"} -> ${after ?? "-"}`,
        })),
  );
  if (rows.length === 0) return facts;
  const table = tableText(
    rows,
    [
      { title: "event", of: ({ eventId }) => eventId },
      { title: "outcome", of: ({ outcome }) => outcome },
      { title: "at", of: ({ at }) => at },
      { title: "change", of: ({ change }) => change },
    ],
    terminal.columns,
  );
  return `${facts}\n${table}`;
}

export async function listRecipes(call: Call): Promise<number> {
  const answer = await call.api.get<RecipeList>(RECIPES);
  await printAnswer(call, answer, () =>
    tableText(
      answer.items,
      [
        { title: "name", of: ({ name }) => name },
        { title: "version", of: ({ version }) => version },
        { title: "kind", of: ({ recipe }) => recipe.kind },
        { title: "source", of: ({ source }) => source },
        { title: "by", of: ({ createdBy }) => createdBy },
        { title: "at", of: ({ createdAt }) => createdAt },
      ],
      call.terminal.columns,
    ),
  );
  return EXIT.done;
}

export async function saveRecipe(call: Call): Promise<number> {
  const { line, api } = call;
  const body = { name: line.arguments[0], recipe: readRecipe(call), source: line.text("source") };
  const saved = await api.change<SavedRecipe>(RECIPES, { method: "POST", body, key: randomUUID() });
  await printAnswer(call, saved, () => `${saved.name} version ${saved.version}\n`);
  return EXIT.done;
}

export async function removeRecipe(call: Call): Promise<number> {
  const { id, name } = await savedRecipe(call, call.line.arguments[0]!);
  await call.api.change(`${RECIPES}/${id}`, { method: "DELETE", body: {} });
  await printAnswer(call, { id, name }, () => `${name} removed\n`);
  return EXIT.done;
}

async function recipeOf(call: Call): Promise<Recipe> {
  const { line } = call;
  const saved = line.text("saved");
  if ((saved === null) === (line.text("recipe") === null)) {
    throw new UsageError("name one recipe: a file with --recipe, or a saved one with --saved", line.command);
  }
  return saved === null ? readRecipe(call) : (await savedRecipe(call, saved)).recipe;
}

async function savedRecipe({ api }: Call, asked: string): Promise<SavedRecipe> {
  const found = (await api.get<RecipeList>(RECIPES)).items.find(({ name }) => name === asked);
  if (!found) throw new ApiError("unknown-recipe", `There is no recipe ${asked}`, { status: 404 });
  return found;
}

function readRecipe({ line }: Call): Recipe {
  const name = line.text("recipe")!;
  try {
    return JSON.parse(readFileSync(name, "utf8")) as Recipe;
  } catch (error) {
    const why = error instanceof SyntaxError ? "is not JSON" : "cannot be read";
    throw new UsageError(`--recipe: ${JSON.stringify(name)} ${why}`, line.command);
  }
}
