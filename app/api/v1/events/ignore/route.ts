import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { bulkChangeSchema } from "@/lib/contract/selection";
import { ignoreEvents } from "@/lib/operations/ignore-events";

export const POST = handle({
  body: bulkChangeSchema,
  status: 202,
  run: ({ deps, request, body, viewer }) =>
    ignoreEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
