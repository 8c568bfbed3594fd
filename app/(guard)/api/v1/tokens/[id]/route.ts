import { handle } from "@/app/_server/handle";
import { revokeToken } from "@/lib/guard/tokens/change-tokens";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "revokeToken",
  withoutSecondFactor: true,
  summary: "End a token at once",
  params: byId("unknown-token"),
  run: ({ deps, viewer, params: { id } }) => revokeToken(deps, id, viewer),
});
