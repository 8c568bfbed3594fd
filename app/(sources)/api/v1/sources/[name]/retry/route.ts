import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { retrySource } from "@/lib/sources/retry-source";

export const POST = handle({
  id: "retrySource",
  summary: "Let the workers attempt a source now, without the rest of their pause",
  params: byName("unknown-source"),
  idempotent: true,
  run: ({ deps, params: { name }, viewer }) => retrySource(deps, name, viewer),
});
