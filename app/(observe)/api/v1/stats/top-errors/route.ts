import { handle } from "@/app/_server/handle";
import { readHinted } from "@/app/_server/named-sources";
import { topErrorsSchema } from "@/lib/observe/stats/stats.shapes";
import { readTopErrors } from "@/lib/observe/stats/top-errors.read";
import { topErrorsQuery } from "@/lib/selection/stats-query.shapes";

export const GET = handle({
  id: "readTopErrors",
  summary: "Error codes: what arrived in the window; without a window, what is parked",
  query: topErrorsQuery,
  answer: topErrorsSchema,
  coalesce: true,
  run: (call) => readHinted(call, readTopErrors),
});
