import { handle } from "@/app/_server/handle";
import { assertKnownSource } from "@/app/_server/named-sources";
import { forgetPreviewRequestSchema, forgetPreviewSchema } from "@/lib/keep/forget/forget.shapes";
import { previewForget } from "@/lib/keep/forget/preview-forget";

export const POST = handle({
  id: "previewForget",
  summary: "What a forget would delete now",
  body: forgetPreviewRequestSchema,
  answer: forgetPreviewSchema,
  problems: ["invalid-window", "unknown-source"],
  run: async (call) => {
    await assertKnownSource(call, call.body.source, "source");
    return previewForget(call.deps.db, call.viewer, call.body);
  },
});
