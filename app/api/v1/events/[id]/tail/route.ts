import { handle } from "@/app/_server/handle";
import { tailSchema } from "@/lib/contract/tails";
import { byId } from "@/lib/platform/api/query.shapes";
import { readTail } from "@/lib/store/read/tails";

export const GET = handle({
  id: "readTail",
  summary: "The head of an event's aggregate, why it holds, and the events that it holds, in their order",
  params: byId("unknown-event"),
  answer: tailSchema,
  run: ({ deps, viewer, params: { id } }) => readTail(deps.db, viewer, id),
});
