import { handle } from "@/app/_server/handle";
import { retrySource } from "@/lib/operations/retry-source";
import { byName } from "@/lib/platform/api/query.shapes";

export const POST = handle({
  id: "retrySource",
  summary: "Let the workers attempt a source now, without the rest of their pause",
  params: byName("unknown-source"),
  run: ({ deps, params: { name }, viewer }) => retrySource(deps, name, viewer),
});
