import { handle } from "@/app/_server/handle";
import { listDeliveries } from "@/lib/observe/channels/channels";
import { deliveriesQuery, deliveryListSchema } from "@/lib/observe/channels/channels.shapes";
import { byName } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "listDeliveries",
  summary: "Messages to a channel, newest first: queued ones, and those of the last 30 days",
  params: byName("unknown-channel"),
  query: deliveriesQuery,
  answer: deliveryListSchema,
  run: ({ deps, viewer, params: { name }, query }) => listDeliveries(deps.db, viewer, { ...query, name }),
});
