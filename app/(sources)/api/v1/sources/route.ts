import { handle } from "@/app/_server/handle";
import { idempotencyKeyOf } from "@/app/_server/idempotency";
import { namePageQuery } from "@/lib/platform/api/id-page.shapes";
import { createSource } from "@/lib/sources/create-source";
import { listSources, readSource } from "@/lib/sources/sources.read";
import { sourceListSchema, sourceRequestSchema, sourceSchema } from "@/lib/sources/sources.shapes";

export const GET = handle({
  id: "listSources",
  summary: "Sources by name",
  query: namePageQuery,
  answer: sourceListSchema,
  coalesce: true,
  run: ({ deps, viewer, query }) => listSources(deps, viewer, query),
});

export const POST = handle({
  id: "createSource",
  summary: "Create a source with its two targets",
  body: sourceRequestSchema,
  idempotent: true,
  status: 201,
  answer: sourceSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getSource: { name: "$response.body#/name" } },
  run: async (call) => {
    const repeated = idempotencyKeyOf(call.request) !== null;
    await createSource(call.deps, call.body, call.viewer, { repeated });
    return readSource(call.deps, call.viewer, call.body.name);
  },
});
