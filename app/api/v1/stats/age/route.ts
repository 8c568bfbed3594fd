import { handle } from "@/app/_server/handle";
import { ageStatsSchema } from "@/lib/contract/stats";
import { statsQuery } from "@/lib/contract/stats-query";
import { readAge } from "@/lib/store/read/stats";

export const GET = handle({
  id: "readAge",
  summary: "Age of what is parked: p50, p95, oldest",
  query: statsQuery(["source", "errorCode"]),
  answer: ageStatsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readAge(deps.db, viewer, query, nowMs),
});
