import { handle } from "@/app/_server/handle";
import { forgetSchema } from "@/lib/keep/forget/forget.shapes";
import { readForget } from "@/lib/keep/forget/forgets.read";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "getForget",
  summary: "The report of a forget",
  params: byId("unknown-forget"),
  answer: forgetSchema,
  run: ({ deps, viewer, params: { id } }) => readForget(deps.db, viewer, id),
});
