import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { readAge } from "@/lib/observe/stats/stats.read";
import { ageStatsSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readAge",
  summary: "Age of what is parked: p50, p95, oldest",
  query: statsQuery(["source", "errorCode", "not.source", "not.errorCode"]),
  answer: ageStatsSchema,
  coalesce: true,
  run: (call) => readHinted(call, readAge),
});
