import { handle } from "@/app/_server/handle";
import { addChannel } from "@/lib/observe/channels/change-channel";
import { listChannels, readChannel } from "@/lib/observe/channels/channels.read";
import { channelListSchema, channelRequestSchema, channelSchema } from "@/lib/observe/channels/channels.shapes";

const BY_NAME = { name: "$response.body#/name" };

export const GET = handle({
  id: "listChannels",
  summary: "Channels that are told of alerts, by name",
  answer: channelListSchema,
  run: ({ deps, viewer }) => listChannels(deps.db, viewer),
});

export const POST = handle({
  id: "addChannel",
  summary: "Add a channel; secrets are named, never given",
  body: channelRequestSchema,
  idempotent: true,
  status: 201,
  answer: channelSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getChannel: BY_NAME, changeChannel: BY_NAME, testChannel: BY_NAME, deleteChannel: BY_NAME },
  run: async (call) => {
    const { deps, viewer, body } = call;
    await addChannel({ ...deps, limits: deps.env }, body, viewer);
    return readChannel(deps.db, viewer, body.name);
  },
});
