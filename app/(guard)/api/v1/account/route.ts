import { handle } from "@/app/_server/handle";
import { ownAccountSchema } from "@/lib/guard/accounts/accounts.shapes";
import { readOwnAccount } from "@/lib/guard/accounts/own-account";

export const GET = handle({
  id: "getOwnAccount",
  summary: "The account of the caller",
  answer: ownAccountSchema,
  problems: ["unknown-account"],
  run: ({ deps, viewer }) => readOwnAccount(deps, viewer),
});
