import { handle } from "@/app/_server/handle";
import { endSessions } from "@/lib/guard/accounts/change-accounts";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "endAccountSessions",
  summary: "End all sessions of an account at once",
  params: byId("unknown-account"),
  run: ({ deps, viewer, params: { id } }) => endSessions(deps, id, viewer),
});
