import { handle } from "@/app/_server/handle";
import { checkSchema } from "@/lib/sources/schemas/check-schema";
import { schemaCheckRequestSchema, schemaCheckSchema } from "@/lib/sources/schemas/payload-schemas.shapes";

export const POST = handle({
  id: "checkSchema",
  summary: "Check a text against the schema of a source and event type, or against a draft; changes nothing",
  body: schemaCheckRequestSchema,
  answer: schemaCheckSchema,
  problems: ["unknown-source", "invalid-config"],
  run: ({ deps, body, viewer }) => checkSchema(deps, body, viewer),
});
