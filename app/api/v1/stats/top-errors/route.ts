import { handle } from "@/app/_server/handle";
import { statsQueryFrom } from "@/lib/contract/stats-query";
import { readTopErrors } from "@/lib/store/read/stats";

export const GET = handle({
  query: (params, nowMs) => statsQueryFrom(params, nowMs, ["source", "errorCode", "status"]),
  run: ({ deps, query, nowMs }) => readTopErrors(deps.db, query, nowMs),
});
