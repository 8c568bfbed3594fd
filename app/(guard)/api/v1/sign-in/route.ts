import { handle } from "@/app/_server/handle";
import { browserOf, signedIn } from "@/app/_server/sign-in/answers";
import { signInSchema } from "@/lib/guard/accounts/accounts.shapes";
import { signIn } from "@/lib/guard/sign-in/sign-in";

export const POST = handle({
  id: "signIn",
  summary: "Sign in by name and password; the session comes as a cookie",
  anybody: true,
  body: signInSchema,
  problems: ["sign-in-failed", "code-required"],
  run: async ({ deps, request, body }) => signedIn(deps, await signIn(deps, body, browserOf(request, deps))),
});
