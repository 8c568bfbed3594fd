import { handle } from "@/app/_server/handle";
import { CHANNELS, changeChannel, removeChannel } from "@/lib/observe/channels/channels";
import { channelChangeSchema, channelDeletionSchema, channelSchema } from "@/lib/observe/channels/channels.shapes";
import { byName } from "@/lib/platform/api/query.shapes";

const params = byName("unknown-channel");

export const GET = handle({
  id: "getChannel",
  summary: "One channel, and how its last messages went",
  params,
  answer: channelSchema,
  run: ({ deps, viewer, params: { name } }) => CHANNELS.read(deps.db, viewer, name),
});

export const PATCH = handle({
  id: "changeChannel",
  summary: "Change which alerts a channel gets and its address; queued messages use the new address",
  params,
  body: channelChangeSchema,
  answer: channelSchema,
  problems: ["invalid-config", "stale-settings"],
  run: ({ deps, viewer, params: { name }, body }) =>
    changeChannel({ ...deps, limits: deps.env }, { name, change: body }, viewer),
});

export const DELETE = handle({
  id: "deleteChannel",
  summary: "Delete a channel; its queued messages are not sent",
  params,
  body: channelDeletionSchema,
  bodyOptional: true,
  run: ({ deps, viewer, params: { name }, body }) => removeChannel(deps, { name, reason: body.reason }, viewer),
});
