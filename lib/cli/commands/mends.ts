import { readFileSync } from "node:fs";
import { type Call, countText, printAnswer, requestKey, selectOf } from "@/lib/cli/call";
import {
  allOption,
  type Command,
  detachOption,
  EXIT,
  idempotencyKeyOption,
  idsArgument,
  reasonOption,
  requiredReasonOption,
  SELECTION,
  UsageError,
  yesOption,
} from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { followOperation } from "@/lib/cli/follow";
import { printTable } from "@/lib/cli/lists";
import { factsText, tableText } from "@/lib/cli/table";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { MendCounts, MendItem, RecipeList, SavedRecipe } from "@/lib/repair/recipes/recipes.shapes";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";

const recipeOption = { name: "recipe", value: "file" } as const;

const RECIPES = "api/v1/recipes";

/** Counts first what the recipe does: the number that a person confirms is that of the events that would change. */
async function mend(call: Call): Promise<number> {
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
  return begin(
    call,
    await api.change<BulkAnswer>("api/v1/events/mend", { method: "POST", body, key: requestKey(call) }),
  );
}

async function undoMend(call: Call): Promise<number> {
  const { line, api } = call;
  const body = { select: { operation: line.arguments[0] }, reason: line.text("reason") };
  return begin(
    call,
    await api.change<BulkAnswer>("api/v1/events/undo-mend", { method: "POST", body, key: requestKey(call) }),
  );
}

async function begin(call: Call, answer: BulkAnswer): Promise<number> {
  call.terminal.say(`Bulk operation ${answer.id}: a worker revises the events.`);
  if (!call.line.flag("detach")) return followOperation(call, answer.id!);
  return printAnswer(call, answer, () => `${answer.id}\n`);
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
  const table = tableText(rows, [["event", "eventId"], "outcome", "at", "change"], terminal.columns);
  return `${facts}\n${table}`;
}

async function listRecipes(call: Call): Promise<number> {
  const answer = await call.api.get<RecipeList>(RECIPES);
  return printTable(call, answer, [
    "name",
    "version",
    ["kind", ({ recipe }) => recipe.kind],
    "source",
    ["by", "createdBy"],
    ["at", "createdAt"],
  ]);
}

async function saveRecipe(call: Call): Promise<number> {
  const { line, api } = call;
  const body = { name: line.arguments[0], recipe: readRecipe(call), source: line.text("source") };
  const saved = await api.change<SavedRecipe>(RECIPES, { method: "POST", body, key: requestKey(call) });
  return printAnswer(call, saved, () => `${saved.name} version ${saved.version}\n`);
}

async function removeRecipe(call: Call): Promise<number> {
  const { id, name } = await savedRecipe(call, call.line.arguments[0]!);
  await call.api.change(`${RECIPES}/${id}`, { method: "DELETE", body: {} });
  return printAnswer(call, { id, name }, () => `${name} removed\n`);
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

export const MEND_COMMANDS: readonly Command[] = [
  {
    name: "mend",
    summary: "Revise events by a recipe",
    arguments: [idsArgument],
    filter: true,
    options: [
      { ...recipeOption, text: "The file with the recipe, as docs/repair.md describes it" },
      { name: "saved", value: "name", text: "A saved recipe, in place of --recipe" },
      { name: "preview", text: "Only count what would change, break its schema or fail, with samples" },
      { name: "breaking", text: "Revise also events that then break their JSON Schema" },
      reasonOption,
      allOption,
      yesOption,
      detachOption,
      idempotencyKeyOption,
    ],
    details: `${SELECTION} It first counts what the recipe would change, and asks for confirmation before it starts. The events changed are those of its bulk operation: \`undo-mend\`, \`verify --operation\` and \`redrive --operation\` take them.`,
    examples: [
      "parkade mend --source orders --errorCode VALIDATION_ERROR --recipe rename.json --preview",
      'parkade mend --source orders --saved "custId to customerId" --reason "the producer renamed it" --yes',
    ],
    run: mend,
  },
  {
    name: "undo-mend",
    summary: "Undo a mend: make the revisions before it current again",
    arguments: [{ name: "operation" }],
    options: [requiredReasonOption, detachOption, idempotencyKeyOption],
    details: "Events that were sent, queued or revised since keep what they have, and are counted by reason.",
    examples: ['parkade undo-mend 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60 --reason "it was not the field"'],
    run: undoMend,
  },
  {
    name: "recipe list",
    summary: "List the saved recipes in their newest versions",
    details: "With the kind, the source whose viewers see it, and who saved it.",
    examples: ["parkade recipe list"],
    run: listRecipes,
  },
  {
    name: "recipe save",
    summary: "Save a recipe; under a known name as its next version",
    arguments: [{ name: "name" }],
    options: [
      { ...recipeOption, required: true, text: "The file with the recipe" },
      {
        name: "source",
        value: "name",
        names: "sources",
        text: "Visible only to people who see this source; default: everyone",
      },
    ],
    details: "The recipe is checked before it is saved.",
    examples: ['parkade recipe save "custId to customerId" --recipe rename.json --source orders'],
    run: saveRecipe,
  },
  {
    name: "recipe remove",
    summary: "Remove a saved recipe in all its versions",
    arguments: [{ name: "name" }],
    details: "Events that were mended with it stay mended; the audit log keeps its versions.",
    examples: ['parkade recipe remove "custId to customerId"'],
    run: removeRecipe,
  },
];
