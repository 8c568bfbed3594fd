import { handle } from "@/app/_server/handle";
import { endOwnSessions } from "@/lib/guard/sessions/own-sessions";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "endOwnSession",
  withoutSecondFactor: true,
  summary: "End a session of your own account",
  params: byId("unknown-session"),
  run: ({ deps, viewer, params: { id } }) => endOwnSessions(deps, id, viewer),
});
