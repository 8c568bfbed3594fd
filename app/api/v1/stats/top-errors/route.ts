import { handle } from "@/app/_server/handle";
import { topErrorsSchema } from "@/lib/contract/stats";
import { topErrorsQuery } from "@/lib/contract/stats-query";
import { readTopErrors } from "@/lib/store/read/top-errors";

export const GET = handle({
  id: "readTopErrors",
  summary: "Error codes: what arrived in the window; without a window, what is parked",
  query: topErrorsQuery,
  answer: topErrorsSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => readTopErrors(deps.db, viewer, query, nowMs),
});
