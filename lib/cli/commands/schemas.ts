import { type Call, printAnswer, requestKey } from "@/lib/cli/call";
import { type Argument, type Command, EXIT, type Option, requiredReasonOption } from "@/lib/cli/command";
import { readJson } from "@/lib/cli/commands/sources";
import { printTable } from "@/lib/cli/lists";
import { factsText } from "@/lib/cli/table";
import type { InferredSchema, SchemaList, SchemaVersionDetail } from "@/lib/sources/schemas/payload-schemas.shapes";

const sourceArgument: Argument = { name: "source", names: "sources" };
const eventTypeOption: Option = {
  name: "type",
  value: "type",
  text: "The event type; default: all types without a schema of their own",
};

const pathOf = (call: Call) => `api/v1/sources/${encodeURIComponent(call.line.arguments[0]!)}/schemas`;

async function listSchemas(call: Call): Promise<number> {
  const list = await call.api.get<SchemaList>(pathOf(call), new URLSearchParams());
  return printTable(call, list, [
    ["type", ({ eventType }) => eventType ?? "all others"],
    ["version", ({ version, current }) => (current ? version : `${version}, retired`)],
    "versions",
    "origin",
    ["by", "createdBy"],
    "id",
  ]);
}

/** Prints the schema itself, so that it can be piped into a file, edited and stored. */
async function inferSchema(call: Call): Promise<number> {
  const body = { eventType: call.line.text("type") };
  const inferred = await call.api.change<InferredSchema>(`${pathOf(call)}/infer`, { method: "POST", body });
  await printAnswer(call, inferred, () => `${JSON.stringify(inferred.schema, null, 2)}\n`);
  return inferred.schema === null ? EXIT.refused : EXIT.done;
}

async function setSchema(call: Call): Promise<number> {
  const { line, api } = call;
  const body = {
    eventType: line.text("type"),
    schema: readJson(call, "schema", line.text("schema")!),
    reason: line.text("reason"),
  };
  const stored = await api.change<SchemaVersionDetail>(pathOf(call), { method: "POST", body, key: requestKey(call) });
  return printAnswer(call, stored, () =>
    factsText([
      ["type", stored.eventType ?? "all others"],
      ["version", String(stored.version)],
      ["id", stored.id],
    ]),
  );
}

export const SCHEMA_COMMANDS: readonly Command[] = [
  {
    name: "schema list",
    summary: "List the schemas of a source by event type",
    arguments: [sourceArgument],
    options: [],
    details: "For each type: the current version, else the newest one.",
    examples: ["parkade schema list orders"],
    run: listSchemas,
  },
  {
    name: "schema infer",
    summary: "Print a schema inferred from redriven events of a type",
    arguments: [sourceArgument],
    options: [eventTypeOption],
    details: "Stores nothing. --json also says how many events were read, and which fields are optional.",
    examples: ["parkade schema infer orders --type OrderCreated > order.json"],
    run: inferSchema,
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
    run: setSchema,
  },
];
