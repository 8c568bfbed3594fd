import { handle } from "@/app/_server/handle";
import { sampleParts } from "@/app/_server/intake/sample";
import { byId } from "@/lib/platform/api/query.shapes";
import { frozenSampleSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { sampleFrozen } from "@/lib/redrive/preview/sample-dry-run";

export const GET = handle({
  id: "checkRedrive",
  summary: "The dry run of some of what a redrive has frozen and not ended",
  params: byId("unknown-redrive"),
  answer: frozenSampleSchema,
  problems: ["unknown-target", "read-timeout"],
  run: ({ deps, viewer, params: { id } }) => sampleFrozen({ ...deps, ...sampleParts(deps) }, id, viewer),
});
