import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { bulkAnswerSchema } from "@/lib/events/events.shapes";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { bulkChangeSchema } from "@/lib/selection/selection.shapes";

export const POST = handle({
  id: "removeEvents",
  summary: "Move settled events (IGNORED, or REDRIVEN and confirmed) from the store into the archive",
  body: bulkChangeSchema,
  idempotent: "own",
  status: 202,
  answer: bulkAnswerSchema,
  problems: [...SELECT_PROBLEMS, "archive-unavailable"],
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    removeEvents(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
