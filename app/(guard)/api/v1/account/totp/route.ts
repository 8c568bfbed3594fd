import { handle } from "@/app/_server/handle";
import { passwordProofSchema, totpOfferSchema, totpRemovalSchema } from "@/lib/guard/accounts/accounts.shapes";
import { offerTotp, removeTotp } from "@/lib/guard/accounts/own-account";

export const POST = handle({
  id: "offerTotp",
  withoutSecondFactor: true,
  summary: "A secret for an authenticator app, which counts once a code of it is confirmed",
  body: passwordProofSchema,
  answer: totpOfferSchema,
  problems: ["unknown-account", "proof-failed", "illegal-transition"],
  run: ({ deps, viewer, body }) => offerTotp(deps, body, viewer),
});

export const DELETE = handle({
  id: "removeTotp",
  summary: "Remove the second factor",
  body: totpRemovalSchema,
  idempotent: "none",
  problems: ["unknown-account", "proof-failed", "illegal-transition"],
  run: ({ deps, viewer, body }) => removeTotp(deps, body, viewer),
});
