import { handle } from "@/app/_server/handle";
import { sessionListSchema } from "@/lib/guard/accounts/accounts.shapes";
import { endOwnSessions, listOwnSessions } from "@/lib/guard/sessions/own-sessions";

export const GET = handle({
  id: "listOwnSessions",
  withoutSecondFactor: true,
  summary: "Sessions of your own account",
  answer: sessionListSchema,
  run: ({ deps, viewer }) => listOwnSessions(deps, viewer),
});

export const DELETE = handle({
  id: "endOtherSessions",
  withoutSecondFactor: true,
  summary: "End all other sessions of your own account",
  problems: ["unknown-session"],
  run: ({ deps, viewer }) => endOwnSessions(deps, "others", viewer),
});
