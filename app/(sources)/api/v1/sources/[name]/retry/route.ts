import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { retrySource } from "@/lib/sources/retry-source";

export const POST = handle({
  id: "retrySource",
  summary: "Have the workers retry a source now instead of waiting",
  params: byName("unknown-source"),
  idempotent: true,
  run: ({ deps, params: { name }, viewer }) => retrySource(deps, name, viewer),
});
