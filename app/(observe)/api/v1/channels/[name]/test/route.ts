import { handle } from "@/app/_server/handle";
import { testChannel } from "@/lib/observe/channels/channels";
import { channelTestSchema } from "@/lib/observe/channels/channels.shapes";
import { byName } from "@/lib/platform/api/query.shapes";

export const POST = handle({
  id: "testChannel",
  summary: "Send a test message as alerts are sent; the delivery log shows its result",
  params: byName("unknown-channel"),
  idempotent: true,
  status: 202,
  answer: channelTestSchema,
  run: async (call) => {
    const { deps, viewer, params } = call;
    return { id: await testChannel(deps, { name: params.name, publicUrl: deps.env.publicUrl }, viewer) };
  },
});
