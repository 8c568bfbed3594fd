import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { confirmRequestSchema } from "@/lib/redrive/confirm/confirm.shapes";

export const POST = handle({
  id: "confirmEvents",
  summary: "Confirm that a consumer processed events: by the producer's ids, or a selection with a reason",
  body: confirmRequestSchema,
  idempotent: "own",
  status: 202,
  answer: bulkAnswerSchema,
  problems: [...SELECT_PROBLEMS, "unknown-source"],
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    confirmEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
