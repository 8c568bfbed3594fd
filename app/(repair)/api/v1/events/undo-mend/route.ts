import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID } from "@/app/_server/operation";
import { requestUndoMend } from "@/lib/repair/mends/request-mend";
import { mendAnswerSchema, undoMendSchema } from "@/lib/repair/recipes/recipes.shapes";

export const POST = handle({
  id: "undoMend",
  summary: "Undo a mend: make the revisions before it current again, of events that were not sent or revised since",
  body: undoMendSchema,
  idempotent: "own",
  status: 202,
  answer: mendAnswerSchema,
  problems: ["unknown-operation", "illegal-transition", "would-change-nothing"],
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    requestUndoMend(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
