import { handle } from "@/app/_server/handle";
import { listAccounts } from "@/lib/guard/accounts/accounts.read";
import {
  accountListSchema,
  accountsQuery,
  madeAccountSchema,
  newAccountSchema,
} from "@/lib/guard/accounts/accounts.shapes";
import { createAccount } from "@/lib/guard/accounts/change-accounts";

export const GET = handle({
  id: "listAccounts",
  summary: "Accounts of people and services",
  query: accountsQuery,
  answer: accountListSchema,
  run: ({ deps, viewer, query }) => listAccounts(deps, query, viewer),
});

export const POST = handle({
  id: "createAccount",
  summary: "Create an account; its owner chooses a password by the link, which is shown once",
  body: newAccountSchema,
  status: 201,
  answer: madeAccountSchema,
  problems: ["name-taken", "invalid-name", "invalid-account"],
  links: { getAccount: { id: "$response.body#/account/id" } },
  run: ({ deps, viewer, body }) => createAccount(deps, body, viewer),
});
