import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { readSchema } from "@/lib/sources/schemas/payload-schemas.read";
import { schemaChangeSchema, schemaDetailSchema } from "@/lib/sources/schemas/payload-schemas.shapes";
import { changeSchema } from "@/lib/sources/schemas/store-schema";

const params = byId("unknown-schema");

export const GET = handle({
  id: "getSchema",
  summary: "One version of a schema, and the other versions of its event type",
  params,
  answer: schemaDetailSchema,
  run: ({ deps, viewer, params: { id } }) => readSchema(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "changeSchema",
  summary: "Make a version of a schema current again, or retire the schema of its event type",
  params,
  body: schemaChangeSchema,
  answer: schemaDetailSchema,
  problems: ["illegal-transition"],
  run: async ({ deps, viewer, params: { id }, body }) => {
    await changeSchema(deps, { id, change: body }, viewer);
    return readSchema(deps.db, viewer, id);
  },
});
