import { handle } from "@/app/_server/handle";
import { sampleParts } from "@/app/_server/intake/sample";
import { withSourceHints } from "@/app/_server/named-sources";
import { SELECT_PROBLEMS } from "@/app/_server/operation";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { previewRequestSchema, previewSchema } from "@/lib/redrive/preview/redrive-preview.shapes";

export const POST = handle({
  id: "previewRedrive",
  summary: "What a redrive would do now",
  body: previewRequestSchema,
  answer: previewSchema,
  problems: [...SELECT_PROBLEMS, "unknown-target"],
  run: async (call) => {
    const { deps, body, viewer } = call;
    const { source: sources, "not.source": excluded } = "filter" in body.select ? body.select.filter : {};
    const preview = await previewRedrive({ ...deps, sample: sampleParts(deps) }, body, viewer);
    return withSourceHints(call, { sources, excluded, within: "select.filter." }, preview);
  },
});
