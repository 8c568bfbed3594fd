import { handle } from "@/app/_server/handle";
import { liftGroupMute } from "@/lib/events/groups/mutes/change-group-mute";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "liftGroupMute",
  summary: "Unmute a group",
  params: byId("unknown-mute"),
  run: ({ deps, viewer, params: { id } }) => liftGroupMute(deps, id, viewer),
});
