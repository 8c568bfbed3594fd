import { handle } from "@/app/_server/handle";
import { topErrorsQueryFrom } from "@/lib/contract/stats-query";
import { readTopErrors } from "@/lib/store/read/top-errors";

export const GET = handle({
  query: topErrorsQueryFrom,
  run: ({ deps, viewer, query, nowMs }) => readTopErrors(deps.db, viewer, query, nowMs),
});
