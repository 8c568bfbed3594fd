import { handle } from "@/app/_server/handle";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { removalPreviewRequestSchema, removalPreviewSchema } from "@/lib/keep/removal/removal.shapes";
import { previewRemoval } from "@/lib/keep/removal/removal-preview.read";

export const POST = handle({
  id: "previewRemoval",
  summary: "What a removal of these events would do now",
  body: removalPreviewRequestSchema,
  answer: removalPreviewSchema,
  problems: SELECT_PROBLEMS,
  run: ({ deps, body, viewer, nowMs }) =>
    previewRemoval(deps.db, viewer, { select: body.select, nowMs, place: deps.archive?.place ?? null }),
});
