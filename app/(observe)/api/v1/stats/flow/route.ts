import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { readFlow } from "@/lib/observe/stats/stats.read";
import { flowStatsSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readFlow",
  summary: "Events in and out over time",
  query: statsQuery(["source", "errorCode", "fingerprint", "not.source", "not.errorCode"]),
  answer: flowStatsSchema,
  coalesce: true,
  run: (call) => readHinted(call, readFlow),
});
