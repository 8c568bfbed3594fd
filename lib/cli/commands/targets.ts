import { type Command, idempotencyKeyOption, requiredReasonOption, retryableOption } from "@/lib/cli/command";

export const TARGET_COMMANDS = [
  {
    name: "target list",
    summary: "List the targets",
    details: "Those of each source's lanes, and the named ones: where they deliver, and how fast.",
    examples: ["parkade target list"],
  },
  {
    name: "target add",
    summary: "Give a source a further target",
    arguments: [{ name: "name" }],
    options: [
      { name: "source", value: "name", names: "sources", required: true, text: "The source, whose connection it uses" },
      { name: "set", value: "path=text", many: true, text: "A field of the destination, as in `source add`" },
      { name: "config", value: "json", text: "The destination as JSON; @file reads it from a file" },
      retryableOption,
      requiredReasonOption,
      idempotencyKeyOption,
    ],
    details:
      "Another destination at the same broker. Nothing goes there by itself: a redrive names it with --target. It begins at 5 events per second; its rate and its breaker are changed in the console, or by the API.",
    examples: [
      'parkade target add orders.audit --source orders --set redriveTo.queue=audit.orders --reason "the audit missed a day"',
    ],
  },
  {
    name: "target remove",
    summary: "Remove a named target",
    arguments: [{ name: "name", names: "targets" }],
    options: [requiredReasonOption],
    details:
      "Refused while a redrive delivers to it, or another target falls back to it. The history of events keeps its name.",
    examples: ['parkade target remove orders.audit --reason "the audit has them"'],
  },
  {
    name: "contract",
    summary: "Check what targets and sources promise",
    arguments: [{ name: "name", names: "targets", optional: true }],
    options: [
      { name: "strict", text: "End with 2 when an assertion is unknown and none is broken" },
      {
        name: "format",
        value: "format",
        values: ["table", "json", "markdown"],
        text: "How the reports are printed; default: table",
      },
    ],
    details:
      "Each assertion of a contract with the numbers put in: it holds, is broken, or is unknown. Every target and source with a contract, or those of one name: a source and the target of its main lane share theirs. Ends with 1 when an assertion is broken, so that a build can stop there; with 2 when nothing of that name has a contract. Unknown assertions end with 0, or with 2 under --strict.",
    examples: [
      "parkade contract",
      "parkade contract orders --format markdown > contract.md",
      "parkade contract --strict",
    ],
  },
] as const satisfies readonly Command[];
