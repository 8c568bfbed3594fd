import { handle } from "@/app/_server/handle";
import { currentPolicies } from "@/app/_server/policies";

export const GET = handle({ run: async ({ deps, viewer }) => ({ items: await currentPolicies(deps.db, viewer) }) });
