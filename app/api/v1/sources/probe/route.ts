import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/probe";
import { probeRequestSchema } from "@/lib/contract/sources";
import { probeSource } from "@/lib/operations/probe-source";

export const POST = handle({
  body: probeRequestSchema,
  run: async ({ deps, body, viewer }) => probeSource(await probeDeps(deps), body, viewer),
});
