import { handle } from "@/app/_server/handle";
import { addChannel, CHANNELS } from "@/lib/observe/channels/channels";
import { channelListSchema, channelRequestSchema, channelSchema } from "@/lib/observe/channels/channels.shapes";

const BY_NAME = { name: "$response.body#/name" };

export const GET = handle({
  id: "listChannels",
  summary: "List the channels to which alerts are sent, by name",
  answer: channelListSchema,
  run: async ({ deps, viewer }) => ({ items: await CHANNELS.list(deps.db, viewer) }),
});

export const POST = handle({
  id: "addChannel",
  summary: "Add a channel; secrets are given by reference, never by value",
  body: channelRequestSchema,
  idempotent: true,
  status: 201,
  answer: channelSchema,
  problems: ["invalid-config", "name-taken"],
  links: { getChannel: BY_NAME, changeChannel: BY_NAME, testChannel: BY_NAME, deleteChannel: BY_NAME },
  run: ({ deps, viewer, body }) => addChannel({ ...deps, limits: deps.env }, body, viewer),
});
