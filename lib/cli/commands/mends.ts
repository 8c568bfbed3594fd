import {
  allOption,
  type Command,
  detachOption,
  idempotencyKeyOption,
  idsArgument,
  reasonOption,
  requiredReasonOption,
  SELECTION,
  yesOption,
} from "@/lib/cli/command";

const recipeOption = { name: "recipe", value: "file" } as const;

export const MEND_COMMANDS = [
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
    details: `${SELECTION} What the recipe does is counted first; what would change is asked for before it begins. The events changed are those of its bulk operation: \`undo-mend\`, \`verify --operation\` and \`redrive --operation\` take them.`,
    examples: [
      "parkade mend --source orders --errorCode VALIDATION_ERROR --recipe rename.json --preview",
      'parkade mend --source orders --saved "custId to customerId" --reason "the producer renamed it" --yes',
    ],
  },
  {
    name: "undo-mend",
    summary: "Make the revisions before a mend current again",
    arguments: [{ name: "operation" }],
    options: [requiredReasonOption, detachOption, idempotencyKeyOption],
    details: "Events that were sent, queued or revised since keep what they have, and are counted by reason.",
    examples: ['parkade undo-mend 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60 --reason "it was not the field"'],
  },
  {
    name: "recipe list",
    summary: "List the saved recipes in their newest versions",
    details: "With the kind, the source whose viewers see it, and who saved it.",
    examples: ["parkade recipe list"],
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
        text: "Only who sees this source sees it; default: everybody",
      },
    ],
    details: "The recipe is checked before it is saved.",
    examples: ['parkade recipe save "custId to customerId" --recipe rename.json --source orders'],
  },
  {
    name: "recipe remove",
    summary: "Remove a saved recipe in all its versions",
    arguments: [{ name: "name" }],
    details: "What was mended by it stays; the audit keeps its versions.",
    examples: ['parkade recipe remove "custId to customerId"'],
  },
] as const satisfies readonly Command[];
