import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { readSize } from "@/lib/observe/stats/stats.read";
import { sizeStatsSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readSize",
  summary: "dlq_size over time, by error code",
  query: statsQuery(["source", "errorCode", "fingerprint", "not.source", "not.errorCode"]),
  answer: sizeStatsSchema,
  coalesce: true,
  run: (call) => readHinted(call, readSize),
});
