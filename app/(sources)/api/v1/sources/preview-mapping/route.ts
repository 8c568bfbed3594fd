import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/sources/probe";
import { previewMapping } from "@/lib/sources/probe-source";
import { mappingPreviewRequestSchema, mappingPreviewSchema } from "@/lib/sources/sources.shapes";

export const POST = handle({
  id: "previewMapping",
  summary: "The facts of sampled messages under a mapping; no broker is asked",
  body: mappingPreviewRequestSchema,
  answer: mappingPreviewSchema,
  problems: ["invalid-config"],
  run: async ({ deps, body, viewer }) => previewMapping(await probeDeps(deps), body, viewer),
});
