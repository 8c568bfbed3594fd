import { handle } from "@/app/_server/handle";
import { removeTotpOf } from "@/lib/guard/accounts/change-accounts";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "removeAccountTotp",
  summary: "Remove the second factor of an account, such as when the phone is lost",
  params: byId("unknown-account"),
  run: ({ deps, viewer, params: { id } }) => removeTotpOf(deps, id, viewer),
});
