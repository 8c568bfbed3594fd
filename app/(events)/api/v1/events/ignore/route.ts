import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import { bulkChangeSchema } from "@/lib/selection/selection.shapes";

export const POST = handle({
  id: "ignoreEvents",
  summary: "Ignore events; says how many are being sent",
  body: bulkChangeSchema,
  idempotent: "own",
  status: 202,
  answer: bulkAnswerSchema,
  problems: SELECT_PROBLEMS,
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    ignoreEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
