import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { releaseSchema } from "@/lib/contract/selection";
import { releaseEvents } from "@/lib/operations/ignore-events";

export const POST = handle({
  body: releaseSchema,
  status: 202,
  run: ({ deps, request, body, viewer }) =>
    releaseEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
