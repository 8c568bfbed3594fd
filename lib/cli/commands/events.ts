import {
  allOption,
  type Command,
  detachOption,
  idempotencyKeyOption,
  idsArgument,
  type Option,
  pagingOptions,
  reasonOption,
  requiredReasonOption,
  SELECTION,
  yesOption,
} from "@/lib/cli/command";

const sourceOption: Option = {
  name: "source",
  value: "name",
  names: "sources",
  text: "The source, when several have an event of this id",
};
const recipeOption = { name: "recipe", value: "file" } as const;
const baseOption = { name: "base", value: "n", number: "whole", required: true } as const;

export const EVENT_COMMANDS = [
  {
    name: "serve",
    summary: "Start Parkade on this machine",
    options: [
      { name: "port", value: "n", text: "In place of PORT" },
      { name: "data-dir", value: "folder", text: "In place of PARKADE_DATA_DIR" },
      { name: "demo", text: "Also load dead letters to try it with, and a flaky service that takes them" },
    ],
    details:
      "Starts the embedded PostgreSQL (or uses DATABASE_URL), migrates it, and starts console and worker, which were built before. It needs the package parkade-server beside parkade. Ctrl-C or SIGTERM stops all of it in order.",
    examples: ["parkade serve", "parkade serve --port 8080 --data-dir /var/lib/parkade"],
  },
  {
    name: "search",
    summary: "List events, newest first",
    filter: true,
    options: [
      ...pagingOptions,
      {
        name: "count",
        text: "Only count the events, in all and by state; an indented line is a part of the state above it",
      },
    ],
    details:
      "A table as wide as the terminal. Into a pipe: columns with tabs between them, whole values and the event's id first.",
    examples: ["parkade search --source orders --errorCode TIMEOUT --from -24h", "parkade search --count"],
  },
  {
    name: "show",
    summary: "Show one event: error, headers, payload, history",
    arguments: [{ name: "id" }],
    options: [
      sourceOption,
      { name: "payload", text: "Only the payload, byte for byte" },
      {
        name: "revision",
        value: "n",
        number: "whole",
        text: "With --payload: of this revision; default: the current one",
      },
    ],
    details: "The id is the event's own, or the producer's eventId.",
    examples: ["parkade show order-77-v3", "parkade show order-77-v3 --payload > body.json"],
  },
  {
    name: "revisions",
    summary: "List the revisions of one event, newest first",
    arguments: [{ name: "id" }],
    options: [sourceOption],
    details: "What arrived, what bounces brought, what edits and mends made of it, and how often each was sent.",
    examples: ["parkade revisions order-77-v3"],
  },
  {
    name: "edit",
    summary: "Give one event another payload",
    arguments: [{ name: "id" }],
    options: [
      { name: "file", value: "name", required: true, text: "The file with the payload, stored byte for byte" },
      { ...baseOption, text: "The revision that was edited; refused when it is not the current one any more" },
      { name: "content-type", value: "type", text: "Default: as it is" },
      { name: "breaking", text: "Store also a payload that the dry run would refuse" },
      requiredReasonOption,
      sourceOption,
    ],
    details:
      "Adds a revision, which the next redrive sends; what arrived stays. An event in a redrive is refused, and so is a payload that is not valid JSON or breaks its JSON Schema, unless --breaking is given.",
    examples: ['parkade edit order-77-v3 --file body.json --base 1 --reason "the field was renamed"'],
  },
  {
    name: "restore",
    summary: "Make another revision of one event the current one",
    arguments: [{ name: "id" }],
    options: [
      { name: "revision", value: "n", number: "whole", required: true, text: "The revision to make current" },
      { ...baseOption, text: "The one that is current now" },
      requiredReasonOption,
      sourceOption,
    ],
    details: "No bytes are copied: a later redrive sends the revision under the key that it had.",
    examples: ['parkade restore order-77-v3 --revision 1 --base 2 --reason "it was not the field"'],
  },
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
