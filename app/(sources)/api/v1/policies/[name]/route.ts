import { handle } from "@/app/_server/handle";
import { policyVersions } from "@/app/_server/policies";
import { byName } from "@/lib/platform/api/query.shapes";
import { storePolicy } from "@/lib/sources/policies/store-policy";
import { policyListSchema, policyRequestSchema, policySchema } from "@/lib/sources/targets/targets.shapes";

export const GET = handle({
  id: "getPolicy",
  summary: "One policy with its versions, newest first",
  params: byName("unknown-policy"),
  answer: policyListSchema,
  run: async ({ deps, viewer, params }) => ({ items: await policyVersions(deps.lowRate, viewer, params.name) }),
});

export const PUT = handle({
  id: "storePolicy",
  summary: "Store a new version of a policy",
  params: byName("unknown-policy"),
  body: policyRequestSchema,
  answer: policySchema,
  problems: ["invalid-config"],
  run: async ({ deps, params, body, viewer }) => {
    await storePolicy(deps, { name: params.name, request: body }, viewer);
    return (await policyVersions(deps.lowRate, viewer, params.name))[0];
  },
});
