import { handle } from "@/app/_server/handle";
import { changeChannel, removeChannel } from "@/lib/observe/channels/change-channel";
import { readChannel } from "@/lib/observe/channels/channels.read";
import { channelChangeSchema, channelDeletionSchema, channelSchema } from "@/lib/observe/channels/channels.shapes";
import { byName } from "@/lib/platform/api/query.shapes";

const params = byName("unknown-channel");

export const GET = handle({
  id: "getChannel",
  summary: "One channel, and how its last messages went",
  params,
  answer: channelSchema,
  run: ({ deps, viewer, params: { name } }) => readChannel(deps.db, viewer, name),
});

export const PATCH = handle({
  id: "changeChannel",
  summary: "Change what a channel takes and how it is reached; messages that wait go the new way",
  params,
  body: channelChangeSchema,
  answer: channelSchema,
  problems: ["invalid-config", "stale-settings"],
  run: async ({ deps, viewer, params: { name }, body }) => {
    await changeChannel({ ...deps, limits: deps.env }, { name, change: body }, viewer);
    return readChannel(deps.db, viewer, name);
  },
});

export const DELETE = handle({
  id: "deleteChannel",
  summary: "Delete a channel; messages that wait for it are not sent",
  params,
  body: channelDeletionSchema,
  bodyOptional: true,
  run: ({ deps, viewer, params: { name }, body }) => removeChannel(deps, { name, reason: body.reason }, viewer),
});
