import { handle } from "@/app/_server/handle";
import { statsQueryFrom } from "@/lib/contract/stats-query";
import { readAge } from "@/lib/store/read/stats";

export const GET = handle({
  query: (params, nowMs) => statsQueryFrom(params, nowMs, ["source", "errorCode"]),
  run: ({ deps, viewer, query, nowMs }) => readAge(deps.db, viewer, query, nowMs),
});
