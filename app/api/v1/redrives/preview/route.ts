import { handle } from "@/app/_server/handle";
import { sampleParts } from "@/app/_server/sample";
import { previewRequestSchema } from "@/lib/contract/redrives";
import { previewRedrive } from "@/lib/operations/preview-redrive";

export const POST = handle({
  body: previewRequestSchema,
  run: ({ deps, body, viewer }) => previewRedrive({ ...deps, sample: sampleParts(deps) }, body, viewer),
});
