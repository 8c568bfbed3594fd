import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/probe";
import { probeStoredSource } from "@/lib/operations/probe-source";

export const POST = handle({
  run: async ({ deps, params, viewer }) => probeStoredSource(await probeDeps(deps), params.name!, viewer),
});
