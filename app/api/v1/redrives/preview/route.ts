import { handle } from "@/app/_server/handle";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { sampleParts } from "@/app/_server/sample";
import { previewRequestSchema, previewSchema } from "@/lib/contract/redrive-preview";
import { previewRedrive } from "@/lib/operations/preview-redrive";

export const POST = handle({
  id: "previewRedrive",
  summary: "What a redrive would do now",
  body: previewRequestSchema,
  answer: previewSchema,
  problems: [...SELECT_PROBLEMS, "unknown-target"],
  run: ({ deps, body, viewer }) => previewRedrive({ ...deps, sample: sampleParts(deps) }, body, viewer),
});
