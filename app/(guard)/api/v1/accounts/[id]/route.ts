import { handle } from "@/app/_server/handle";
import { readAccount } from "@/lib/guard/accounts/accounts.read";
import { accountChangeSchema, accountSchema } from "@/lib/guard/accounts/accounts.shapes";
import { changeAccount } from "@/lib/guard/accounts/change-accounts";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-account");

export const GET = handle({
  id: "getAccount",
  summary: "An account",
  params,
  answer: accountSchema,
  run: ({ deps, viewer, params: { id } }) => readAccount(deps, viewer, id),
});

export const PATCH = handle({
  id: "changeAccount",
  summary: "Change the rights of an account, or disable it, which ends its sessions and tokens at once",
  params,
  body: accountChangeSchema,
  answer: accountSchema,
  problems: ["stale-account", "last-admin", "invalid-account"],
  run: ({ deps, viewer, params: { id }, body }) => changeAccount(deps, { id, change: body }, viewer),
});
