import { handle } from "@/app/_server/handle";
import { previewRequestSchema } from "@/lib/contract/redrives";
import { previewRedrive } from "@/lib/operations/preview-redrive";

export const POST = handle({
  body: previewRequestSchema,
  run: ({ deps, body }) => previewRedrive(deps, body),
});
