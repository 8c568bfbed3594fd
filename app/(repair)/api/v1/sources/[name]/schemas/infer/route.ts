import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { inferSchema } from "@/lib/repair/schemas/infer-schema";
import { inferRequestSchema, inferredSchemaSchema } from "@/lib/sources/schemas/payload-schemas.shapes";

export const POST = handle({
  id: "inferSchema",
  summary: "Infer a schema from redriven events of a type; stores nothing",
  params: byName("unknown-source"),
  body: inferRequestSchema,
  answer: inferredSchemaSchema,
  problems: ["read-timeout"],
  run: ({ deps, viewer, params: { name }, body }) => inferSchema(deps, { source: name, request: body }, viewer),
});
