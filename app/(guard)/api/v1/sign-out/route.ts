import { handle } from "@/app/_server/handle";
import { browserOf, signedOut } from "@/app/_server/sign-in/answers";
import { signedOutSchema } from "@/lib/guard/accounts/accounts.shapes";
import { signOut } from "@/lib/guard/sessions/own-sessions";

export const POST = handle({
  id: "signOut",
  summary: "End the session of this request",
  anybody: true,
  answer: signedOutSchema,
  problems: ["unknown-session"],
  run: async ({ deps, request, viewer }) => {
    const ended = await signOut(deps, viewer, browserOf(request, deps).sessionSecret);
    const next = ended && (await deps.oidc?.signOutAddress(`${deps.env.publicUrl}/sign-in`, ended.idToken));
    return signedOut(deps, { next: next ?? null });
  },
});
