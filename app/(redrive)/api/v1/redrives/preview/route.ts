import { handle } from "@/app/_server/handle";
import { sampleParts } from "@/app/_server/intake/sample";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { previewRequestSchema, previewSchema } from "@/lib/redrive/preview/redrive-preview.shapes";

export const POST = handle({
  id: "previewRedrive",
  summary: "What a redrive would do now",
  body: previewRequestSchema,
  answer: previewSchema,
  problems: [...SELECT_PROBLEMS, "unknown-target"],
  run: ({ deps, body, viewer }) => previewRedrive({ ...deps, sample: sampleParts(deps) }, body, viewer),
});
