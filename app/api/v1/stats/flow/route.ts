import { handle } from "@/app/_server/handle";
import { flowStatsSchema } from "@/lib/contract/stats";
import { statsQuery } from "@/lib/contract/stats-query";
import { readFlow } from "@/lib/store/read/stats";

export const GET = handle({
  id: "readFlow",
  summary: "Events in and out over time",
  query: statsQuery(["source", "errorCode", "fingerprint"]),
  answer: flowStatsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readFlow(deps.db, viewer, query, nowMs),
});
