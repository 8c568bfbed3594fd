import { handle } from "@/app/_server/handle";
import { listTokens, makeToken } from "@/lib/guard/tokens/change-tokens";
import { madeTokenSchema, tokenListSchema, tokenRequestSchema } from "@/lib/guard/tokens/tokens.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-account");

export const GET = handle({
  id: "listAccountTokens",
  summary: "Tokens of an account",
  params,
  answer: tokenListSchema,
  run: ({ deps, viewer, params: { id } }) => listTokens(deps, id, viewer),
});

export const POST = handle({
  id: "makeAccountToken",
  summary: "Create a token of a service account; its secret is shown once",
  params,
  body: tokenRequestSchema,
  status: 201,
  answer: madeTokenSchema,
  problems: ["invalid-token", "proof-failed"],
  run: ({ deps, viewer, params: { id }, body }) => makeToken(deps, { account: id, request: body }, viewer),
});
