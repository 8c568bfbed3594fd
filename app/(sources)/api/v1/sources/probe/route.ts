import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/sources/probe";
import { probeSource } from "@/lib/sources/probe-source";
import { probeRequestSchema, probeSchema } from "@/lib/sources/sources.shapes";

export const POST = handle({
  id: "probeConfiguration",
  summary: "Probe a configuration before it is stored",
  body: probeRequestSchema,
  answer: probeSchema,
  problems: ["invalid-config"],
  run: async ({ deps, body, viewer }) => probeSource(await probeDeps(deps), body, viewer),
});
