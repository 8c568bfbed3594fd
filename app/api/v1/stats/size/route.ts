import { handle } from "@/app/_server/handle";
import { sizeStatsSchema } from "@/lib/contract/stats";
import { statsQuery } from "@/lib/contract/stats-query";
import { readSize } from "@/lib/store/read/stats";

export const GET = handle({
  id: "readSize",
  summary: "dlq_size over time, by error code",
  query: statsQuery(["source", "errorCode", "fingerprint"]),
  answer: sizeStatsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readSize(deps.db, viewer, query, nowMs),
});
