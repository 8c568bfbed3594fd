import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/probe";
import { probeRequestSchema, probeSchema } from "@/lib/contract/sources";
import { probeSource } from "@/lib/operations/probe-source";

export const POST = handle({
  id: "probeConfiguration",
  summary: "Probe a configuration before it is stored",
  body: probeRequestSchema,
  answer: probeSchema,
  problems: ["invalid-config"],
  run: async ({ deps, body, viewer }) => probeSource(await probeDeps(deps), body, viewer),
});
