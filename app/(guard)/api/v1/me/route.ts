import { handle } from "@/app/_server/handle";
import { meOf } from "@/app/_server/sign-in/answers";
import { meSchema } from "@/lib/guard/accounts/accounts.shapes";

export const GET = handle({
  id: "getMe",
  summary: "Who this request comes from, what it may do, and how to sign in",
  anybody: true,
  answer: meSchema,
  run: ({ deps, request, viewer }) => meOf(request, deps, viewer),
});
