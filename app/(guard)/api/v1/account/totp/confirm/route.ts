import { handle } from "@/app/_server/handle";
import { browserOf } from "@/app/_server/sign-in/answers";
import { recoveryCodesSchema, totpConfirmSchema } from "@/lib/guard/accounts/accounts.shapes";
import { confirmTotp } from "@/lib/guard/accounts/own-account";

export const POST = handle({
  id: "confirmTotp",
  withoutSecondFactor: true,
  summary: "Ask for a code from now on; the recovery codes are shown once",
  body: totpConfirmSchema,
  answer: recoveryCodesSchema,
  problems: ["unknown-account", "proof-failed", "illegal-transition"],
  run: ({ deps, request, viewer, body }) =>
    confirmTotp(deps, body.code, { viewer, address: browserOf(request, deps).address }),
});
