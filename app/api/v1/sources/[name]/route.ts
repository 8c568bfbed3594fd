import { handle } from "@/app/_server/handle";
import { sourceChangeSchema } from "@/lib/contract/sources";
import { deleteSource } from "@/lib/operations/delete-source";
import { updateSource } from "@/lib/operations/update-source";
import { readSource } from "@/lib/store/read/sources";

export const GET = handle({ run: ({ deps, params }) => readSource(deps, params.name!) });

export const PATCH = handle({
  body: sourceChangeSchema,
  run: async ({ deps, params, body, actor }) => {
    await updateSource(deps, { name: params.name!, change: body }, actor);
    return readSource(deps, params.name!);
  },
});

export const DELETE = handle({ run: ({ deps, params, actor }) => deleteSource(deps, params.name!, actor) });
