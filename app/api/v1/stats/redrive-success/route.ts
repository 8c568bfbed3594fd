import { handle } from "@/app/_server/handle";
import { redriveSuccessSchema } from "@/lib/contract/stats";
import { statsQuery } from "@/lib/contract/stats-query";
import { readRedriveSuccess } from "@/lib/store/read/stats";

export const GET = handle({
  id: "readRedriveSuccess",
  summary: "Confirmed of what is settled",
  query: statsQuery(["source", "errorCode", "fingerprint"]),
  answer: redriveSuccessSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readRedriveSuccess(deps.db, viewer, query, nowMs),
});
