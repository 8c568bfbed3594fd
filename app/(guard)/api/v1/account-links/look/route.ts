import { handle } from "@/app/_server/handle";
import { browserOf } from "@/app/_server/sign-in/answers";
import { lookAtLink } from "@/lib/guard/accounts/account-links";
import { linkLookSchema, linkShownSchema } from "@/lib/guard/accounts/accounts.shapes";
import { iso } from "@/lib/platform/plain/iso-time.pure";

export const POST = handle({
  id: "lookAtLink",
  summary: "What a one-time link is for; the link stays",
  anybody: true,
  body: linkLookSchema,
  answer: linkShownSchema,
  problems: ["unknown-link"],
  run: async ({ deps, request, body }) => {
    const { purpose, name, expiresAt } = await lookAtLink(deps, body.secret, browserOf(request, deps));
    return { purpose, name, expiresAt: iso(expiresAt) };
  },
});
