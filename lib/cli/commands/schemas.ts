import { type Argument, type Command, type Option, requiredReasonOption } from "@/lib/cli/command";

const sourceArgument: Argument = { name: "source", names: "sources" };
const eventTypeOption: Option = {
  name: "type",
  value: "type",
  text: "The event type; default: all types without a schema of their own",
};

export const SCHEMA_COMMANDS = [
  {
    name: "schema list",
    summary: "List the schemas of a source by event type",
    arguments: [sourceArgument],
    options: [],
    details: "Of each type the version in force, else the newest one.",
    examples: ["parkade schema list orders"],
  },
  {
    name: "schema infer",
    summary: "Print a schema of the events of a type that went through",
    arguments: [sourceArgument],
    options: [eventTypeOption],
    details: "Stores nothing. --json also says how many events were read, and which fields are optional.",
    examples: ["parkade schema infer orders --type OrderCreated > order.json"],
  },
  {
    name: "schema set",
    summary: "Store a version of a schema, and make it current",
    arguments: [sourceArgument],
    options: [
      eventTypeOption,
      { name: "schema", value: "json", required: true, text: "JSON Schema 2020-12; @file reads it from a file" },
      requiredReasonOption,
    ],
    details: "The dry run refuses events of the type whose payload breaks it. Every version is kept.",
    examples: ['parkade schema set orders --type OrderCreated --schema @order.json --reason "amount became a number"'],
  },
] as const satisfies readonly Command[];
