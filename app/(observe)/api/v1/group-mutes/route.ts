import { handle } from "@/app/_server/handle";
import { muteGroups } from "@/lib/events/groups/mutes/change-group-mute";
import { listGroupMutes, readGroupMutes } from "@/lib/events/groups/mutes/group-mutes.read";
import {
  groupMuteListSchema,
  groupMuteRequestSchema,
  groupMutesBegunSchema,
  groupMutesQuery,
} from "@/lib/events/groups/mutes/group-mutes.shapes";

export const GET = handle({
  id: "listGroupMutes",
  summary: "List muted groups, newest first",
  query: groupMutesQuery,
  answer: groupMuteListSchema,
  run: ({ deps, viewer, query }) => listGroupMutes(deps.db, viewer, query),
});

export const POST = handle({
  id: "muteGroups",
  summary: "Mute groups until a time, or until a number of further events have arrived",
  body: groupMuteRequestSchema,
  idempotent: true,
  status: 201,
  answer: groupMutesBegunSchema,
  problems: ["invalid-window", "unknown-source", "unknown-group"],
  run: async (call) => {
    const ids = await muteGroups(call.deps, call.body, call.viewer);
    return { items: await readGroupMutes(call.deps.db, call.viewer, ids) };
  },
});
