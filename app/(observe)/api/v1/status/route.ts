import { handle } from "@/app/_server/handle";
import { statusOf } from "@/app/_server/status";
import { statusSchema } from "@/lib/observe/stats/stats.shapes";

export const GET = handle({
  id: "readStatus",
  summary: "What flows now, and whether store, queue and workers are well",
  answer: statusSchema,
  coalesce: true,
  run: ({ deps, viewer, nowMs }) => statusOf(deps, viewer, nowMs),
});
