import { handle } from "@/app/_server/handle";
import { passwordChangeSchema } from "@/lib/guard/accounts/accounts.shapes";
import { changePassword } from "@/lib/guard/accounts/own-account";

export const POST = handle({
  id: "changePassword",
  withoutSecondFactor: true,
  summary: "Choose a new password; other sessions and all tokens of the account end",
  body: passwordChangeSchema,
  problems: ["unknown-account", "proof-failed", "invalid-password"],
  run: ({ deps, viewer, body }) => changePassword(deps, body, viewer),
});
