import { handle } from "@/app/_server/handle";
import { removeTotpOf } from "@/lib/guard/accounts/change-accounts";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "removeAccountTotp",
  summary: "Take the second factor off an account whose phone is lost",
  params: byId("unknown-account"),
  run: ({ deps, viewer, params: { id } }) => removeTotpOf(deps, id, viewer),
});
