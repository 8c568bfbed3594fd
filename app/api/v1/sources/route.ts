import { handle } from "@/app/_server/handle";
import { namePageQuery } from "@/lib/contract/id-page";
import { sourceListSchema, sourceRequestSchema, sourceSchema } from "@/lib/contract/sources";
import { createSource } from "@/lib/operations/create-source";
import { listSources, readSource } from "@/lib/store/read/sources";

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
  status: 201,
  answer: sourceSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getSource: { name: "$response.body#/name" } },
  run: async ({ deps, body, viewer }) => {
    await createSource(deps, body, viewer);
    return readSource(deps, viewer, body.name);
  },
});
