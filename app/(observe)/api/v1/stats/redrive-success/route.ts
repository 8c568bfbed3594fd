import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { readRedriveSuccess } from "@/lib/observe/stats/stats.read";
import { redriveSuccessSchema } from "@/lib/observe/stats/stats.shapes";
import { statsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readRedriveSuccess",
  summary: "Confirmed of what is settled",
  query: statsQuery(["source", "errorCode", "fingerprint", "not.source", "not.errorCode"]),
  answer: redriveSuccessSchema,
  coalesce: true,
  run: (call) => readHinted(call, readRedriveSuccess),
});
