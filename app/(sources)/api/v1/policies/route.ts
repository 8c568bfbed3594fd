import { handle } from "@/app/_server/handle";
import { currentPolicies } from "@/app/_server/policies";
import { policyListSchema } from "@/lib/sources/targets/targets.shapes";

export const GET = handle({
  id: "listPolicies",
  summary: "Retry policies, each in the version in force",
  answer: policyListSchema,
  run: async ({ deps, viewer }) => ({ items: await currentPolicies(deps.lowRate, viewer) }),
});
