import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/sources/probe";
import { byName } from "@/lib/platform/api/query.shapes";
import { probeStoredSource } from "@/lib/sources/probe-source";
import { probeSchema, storedProbeRequestSchema } from "@/lib/sources/sources.shapes";

export const POST = handle({
  id: "probeSource",
  summary: "Can a source be reached, and what would be read?",
  params: byName("unknown-source"),
  body: storedProbeRequestSchema,
  bodyOptional: true,
  answer: probeSchema,
  problems: ["invalid-config"],
  run: async ({ deps, params: { name }, body, viewer }) =>
    probeStoredSource(await probeDeps(deps), { name, config: body?.config }, viewer),
});
