import { handle } from "@/app/_server/handle";
import { sourceChangeSchema } from "@/lib/contract/sources";
import { deleteSource } from "@/lib/operations/delete-source";
import { updateSource } from "@/lib/operations/update-source";
import { readSource } from "@/lib/store/read/sources";

export const GET = handle({ run: ({ deps, viewer, params }) => readSource(deps, viewer, params.name!) });

export const PATCH = handle({
  body: sourceChangeSchema,
  run: async ({ deps, params, body, viewer }) => {
    await updateSource(deps, { name: params.name!, change: body }, viewer);
    return readSource(deps, viewer, params.name!);
  },
});

export const DELETE = handle({ run: ({ deps, params, viewer }) => deleteSource(deps, params.name!, viewer) });
