import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { releaseEvents } from "@/lib/events/bulk/ignore-events";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import { releaseSchema } from "@/lib/selection/selection.shapes";

export const POST = handle({
  id: "releaseEvents",
  summary: "Release ignored events",
  body: releaseSchema,
  idempotent: "own",
  status: 202,
  answer: bulkAnswerSchema,
  problems: SELECT_PROBLEMS,
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    releaseEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
