import { handle } from "@/app/_server/handle";
import { linkSchema } from "@/lib/guard/accounts/accounts.shapes";
import { resetAccount } from "@/lib/guard/accounts/change-accounts";
import { byId } from "@/lib/platform/api/query.shapes";

export const POST = handle({
  id: "makeAccountLink",
  summary: "A one-time link to choose a new password; it replaces the previous one and is shown once",
  params: byId("unknown-account"),
  answer: linkSchema,
  problems: ["illegal-transition"],
  run: ({ deps, viewer, params: { id } }) => resetAccount(deps, id, viewer),
});
