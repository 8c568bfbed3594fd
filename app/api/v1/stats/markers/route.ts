import { handle } from "@/app/_server/handle";
import { statsQueryFrom } from "@/lib/contract/stats-query";
import { readMarkers } from "@/lib/store/read/stats";

export const GET = handle({
  query: (params, nowMs) => statsQueryFrom(params, nowMs, []),
  run: ({ deps, viewer, query }) => readMarkers(deps.db, viewer, query),
});
