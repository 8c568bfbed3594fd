import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { listSchemas, readSchema } from "@/lib/sources/schemas/payload-schemas.read";
import {
  schemaDetailSchema,
  schemaListSchema,
  schemaRequestSchema,
} from "@/lib/sources/schemas/payload-schemas.shapes";
import { storeSchema } from "@/lib/sources/schemas/store-schema";

const params = byName("unknown-source");

export const GET = handle({
  id: "listSchemas",
  summary: "The schemas of a source by event type",
  params,
  answer: schemaListSchema,
  coalesce: true,
  run: ({ deps, viewer, params: { name } }) => listSchemas(deps.db, viewer, name),
});

export const POST = handle({
  id: "storeSchema",
  summary: "Store a version of the schema of an event type, and make it current",
  params,
  body: schemaRequestSchema,
  creates: ["getSchema", "changeSchema"],
  answer: schemaDetailSchema,
  problems: ["invalid-config"],
  run: async (call) => {
    const id = await storeSchema(call.deps, { source: call.params.name, request: call.body }, call.viewer);
    return readSchema(call.deps.db, call.viewer, id);
  },
});
