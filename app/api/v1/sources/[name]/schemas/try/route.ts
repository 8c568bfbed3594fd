import { handle } from "@/app/_server/handle";
import { schemaTrialSchema, schemaTryRequestSchema } from "@/lib/contract/payload-schemas";
import { byName } from "@/lib/contract/query";
import { trySchema } from "@/lib/operations/infer-schema";

export const POST = handle({
  id: "trySchema",
  summary: "How the newest parked and redriven events of a type fare under a schema; stores nothing",
  params: byName("unknown-source"),
  body: schemaTryRequestSchema,
  answer: schemaTrialSchema,
  problems: ["invalid-config", "read-timeout"],
  run: ({ deps, viewer, params: { name }, body }) => trySchema(deps, { source: name, request: body }, viewer),
});
