import { exportQueryFrom, exportResponse } from "@/app/_server/export";
import { handle } from "@/app/_server/handle";

export const GET = handle({
  query: exportQueryFrom,
  run: async ({ deps, viewer, query, nowMs }) => exportResponse(deps.lists, viewer, query, nowMs),
});
