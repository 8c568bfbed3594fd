import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { trySchema } from "@/lib/repair/schemas/infer-schema";
import { schemaTrialSchema, schemaTryRequestSchema } from "@/lib/sources/schemas/payload-schemas.shapes";

export const POST = handle({
  id: "trySchema",
  summary: "How the newest parked and redriven events of a type fare under a schema; stores nothing",
  params: byName("unknown-source"),
  body: schemaTryRequestSchema,
  answer: schemaTrialSchema,
  problems: ["invalid-config", "read-timeout"],
  run: ({ deps, viewer, params: { name }, body }) => trySchema(deps, { source: name, request: body }, viewer),
});
