import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { confirmRequestSchema } from "@/lib/contract/confirm";
import { confirmEvents } from "@/lib/operations/confirm-events";

export const POST = handle({
  body: confirmRequestSchema,
  status: 202,
  run: ({ deps, request, body, viewer }) =>
    confirmEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
