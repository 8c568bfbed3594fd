import { handle } from "@/app/_server/handle";
import { readTail } from "@/lib/order/tails/tails.read";
import { tailSchema } from "@/lib/order/tails/tails.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "readTail",
  summary: "The head of an event's aggregate, why it holds, and the events that it holds, in their order",
  params: byId("unknown-event"),
  answer: tailSchema,
  run: ({ deps, viewer, params: { id } }) => readTail(deps.db, viewer, id),
});
