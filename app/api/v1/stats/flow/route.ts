import { handle } from "@/app/_server/handle";
import { statsQueryFrom } from "@/lib/contract/stats-query";
import { readFlow } from "@/lib/store/read/stats";

export const GET = handle({
  query: (params, nowMs) => statsQueryFrom(params, nowMs, ["source", "errorCode", "fingerprint"]),
  run: ({ deps, viewer, query, nowMs }) => readFlow(deps.db, viewer, query, nowMs),
});
