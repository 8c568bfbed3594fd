import { handle } from "@/app/_server/handle";
import { policyVersions } from "@/app/_server/policies";
import { policyRequestSchema } from "@/lib/contract/targets";
import { storePolicy } from "@/lib/operations/store-policy";

export const GET = handle({
  run: async ({ deps, viewer, params }) => ({ items: await policyVersions(deps.db, viewer, params.name!) }),
});

export const PUT = handle({
  body: policyRequestSchema,
  run: async ({ deps, params, body, viewer }) => {
    await storePolicy(deps, { name: params.name!, request: body }, viewer);
    const [newest] = await policyVersions(deps.db, viewer, params.name!);
    return newest;
  },
});
