import { handle } from "@/app/_server/handle";
import { namePageFrom } from "@/lib/contract/name-page";
import { sourceRequestSchema } from "@/lib/contract/sources";
import { createSource } from "@/lib/operations/create-source";
import { listSources, readSource } from "@/lib/store/read/sources";

export const GET = handle({
  query: namePageFrom,
  run: ({ deps, viewer, query }) => listSources(deps, viewer, query),
});

export const POST = handle({
  body: sourceRequestSchema,
  status: 201,
  run: async ({ deps, body, viewer }) => {
    await createSource(deps, body, viewer);
    return readSource(deps, viewer, body.name);
  },
});
