import { randomUUID } from "node:crypto";
import { type Call, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { readJson } from "@/lib/cli/source";
import { factsText, tableText } from "@/lib/cli/table";
import type { InferredSchema, SchemaList, SchemaVersionDetail } from "@/lib/repair/schemas/payload-schemas.shapes";

const pathOf = (call: Call) => `api/v1/sources/${encodeURIComponent(call.line.arguments[0]!)}/schemas`;

export async function listSchemas(call: Call): Promise<number> {
  const list = await call.api.get<SchemaList>(pathOf(call), new URLSearchParams());
  await printAnswer(call, list, () =>
    tableText(
      list.items,
      [
        { title: "type", of: ({ eventType }) => eventType ?? "all others" },
        { title: "version", of: ({ version, current }) => (current ? version : `${version}, retired`) },
        { title: "versions", of: ({ versions }) => versions },
        { title: "origin", of: ({ origin }) => origin },
        { title: "by", of: ({ createdBy }) => createdBy },
        { title: "id", of: ({ id }) => id },
      ],
      call.terminal.columns,
    ),
  );
  return EXIT.done;
}

/** Prints the schema itself, so that it can be piped into a file, edited and stored. */
export async function inferSchema(call: Call): Promise<number> {
  const body = { eventType: call.line.text("type") };
  const inferred = await call.api.change<InferredSchema>(`${pathOf(call)}/infer`, { method: "POST", body });
  await printAnswer(call, inferred, () => `${JSON.stringify(inferred.schema, null, 2)}\n`);
  return inferred.schema === null ? EXIT.refused : EXIT.done;
}

export async function setSchema(call: Call): Promise<number> {
  const { line, api } = call;
  const body = {
    eventType: line.text("type"),
    schema: readJson(call, "schema", line.text("schema")!),
    reason: line.text("reason"),
  };
  const stored = await api.change<SchemaVersionDetail>(pathOf(call), { method: "POST", body, key: randomUUID() });
  await printAnswer(call, stored, () =>
    factsText([
      ["type", stored.eventType ?? "all others"],
      ["version", String(stored.version)],
      ["id", stored.id],
    ]),
  );
  return EXIT.done;
}
