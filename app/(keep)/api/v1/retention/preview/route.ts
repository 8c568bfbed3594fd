import { handle } from "@/app/_server/handle";
import { retentionPeriodsSchema, retentionPreviewSchema } from "@/lib/keep/retention/retention.shapes";
import { previewRetention } from "@/lib/keep/retention/show-retention.read";

export const GET = handle({
  id: "previewRetention",
  summary: "What would expire now",
  answer: retentionPreviewSchema,
  run: ({ deps, viewer, nowMs }) => previewRetention(deps.db, viewer, { periods: null, nowMs }),
});

export const POST = handle({
  id: "previewRetentionChange",
  summary: "Count what other retention periods would expire",
  body: retentionPeriodsSchema,
  answer: retentionPreviewSchema,
  run: ({ deps, body, viewer, nowMs }) => previewRetention(deps.db, viewer, { periods: body, nowMs }),
});
