import { handle } from "@/app/_server/handle";
import { confirmRequestSchema } from "@/lib/contract/confirm";
import { confirmEvents } from "@/lib/operations/confirm-events";

export const POST = handle({
  body: confirmRequestSchema,
  status: 202,
  run: ({ deps, body, actor }) => confirmEvents(deps, body, actor),
});
