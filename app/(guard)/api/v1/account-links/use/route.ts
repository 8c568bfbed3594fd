import { handle } from "@/app/_server/handle";
import { browserOf, linkUsed } from "@/app/_server/sign-in/answers";
import { useLink as openByLink } from "@/lib/guard/accounts/account-links";
import { linkUsedSchema, linkUseSchema } from "@/lib/guard/accounts/accounts.shapes";

export const POST = handle({
  id: "useLink",
  summary: "Choose a password by a one-time link; without a second factor the session comes as a cookie",
  anybody: true,
  body: linkUseSchema,
  answer: linkUsedSchema,
  problems: ["unknown-link", "invalid-password", "invalid-name", "name-taken"],
  run: async ({ deps, request, body }) => linkUsed(deps, await openByLink(deps, body, browserOf(request, deps))),
});
