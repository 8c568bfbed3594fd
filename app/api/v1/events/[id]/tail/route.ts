import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/contract/query";
import { tailSchema } from "@/lib/contract/tails";
import { readTail } from "@/lib/store/read/tails";

export const GET = handle({
  id: "readTail",
  summary: "The head of an event's aggregate, why it holds, and the events that it holds, in their order",
  params: byId("unknown-event"),
  answer: tailSchema,
  run: ({ deps, viewer, params: { id } }) => readTail(deps.db, viewer, id),
});
