import { handle } from "@/app/_server/handle";
import { liftGroupMute } from "@/lib/events/groups/mutes/change-group-mute";
import { byId } from "@/lib/platform/api/query.shapes";

export const DELETE = handle({
  id: "liftGroupMute",
  summary: "Tell of a group again before its time",
  params: byId("unknown-mute"),
  run: ({ deps, viewer, params: { id } }) => liftGroupMute(deps, id, viewer),
});
