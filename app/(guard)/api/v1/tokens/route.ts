import { handle } from "@/app/_server/handle";
import { ownOf } from "@/lib/guard/accounts/own-account";
import { listTokens, makeToken } from "@/lib/guard/tokens/change-tokens";
import { madeTokenSchema, tokenListSchema, tokenRequestSchema } from "@/lib/guard/tokens/tokens.shapes";

export const GET = handle({
  id: "listOwnTokens",
  withoutSecondFactor: true,
  summary: "Tokens of your own account",
  answer: tokenListSchema,
  run: ({ deps, viewer }) => listTokens(deps, ownOf(viewer).account, viewer),
});

export const POST = handle({
  id: "makeOwnToken",
  summary: "Create a token of your own account; its secret is shown once",
  body: tokenRequestSchema,
  status: 201,
  answer: madeTokenSchema,
  problems: ["unknown-account", "invalid-token", "proof-failed"],
  run: ({ deps, viewer, body }) => makeToken(deps, { account: ownOf(viewer).account, request: body }, viewer),
});
