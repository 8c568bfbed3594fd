import { handle } from "@/app/_server/handle";
import { sampleParts } from "@/app/_server/sample";
import { frozenSampleSchema } from "@/lib/contract/redrive-preview";
import { sampleFrozen } from "@/lib/operations/sample-dry-run";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "checkRedrive",
  summary: "The dry run of some of what a redrive has frozen and not ended",
  params: byId("unknown-redrive"),
  answer: frozenSampleSchema,
  problems: ["unknown-target", "read-timeout"],
  run: ({ deps, viewer, params: { id } }) => sampleFrozen({ ...deps, ...sampleParts(deps) }, id, viewer),
});
