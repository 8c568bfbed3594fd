import { handle } from "@/app/_server/handle";
import { readRedriveSuccess } from "@/lib/observe/stats/stats.read";
import { redriveSuccessSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/observe/stats/stats-query.shapes";

export const GET = handle({
  id: "readRedriveSuccess",
  summary: "Confirmed of what is settled",
  query: statsQuery(["source", "errorCode", "fingerprint"]),
  answer: redriveSuccessSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readRedriveSuccess(deps.db, viewer, query, nowMs),
});
