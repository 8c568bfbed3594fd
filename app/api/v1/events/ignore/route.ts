import { handle } from "@/app/_server/handle";
import { bulkChangeSchema } from "@/lib/contract/selection";
import { ignoreEvents } from "@/lib/operations/ignore-events";

export const POST = handle({
  body: bulkChangeSchema,
  status: 202,
  run: ({ deps, body, actor }) => ignoreEvents(deps, body, actor),
});
