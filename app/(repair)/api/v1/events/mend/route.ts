import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { requestMend } from "@/lib/repair/mends/request-mend";
import { mendAnswerSchema, mendRequestSchema } from "@/lib/repair/recipes/recipes.shapes";

export const POST = handle({
  id: "mendEvents",
  summary: "Revise events by a recipe: a worker carries it out",
  body: mendRequestSchema,
  idempotent: "own",
  status: 202,
  answer: mendAnswerSchema,
  problems: [...SELECT_PROBLEMS, "invalid-recipe", "would-change-nothing", "too-many-events"],
  links: { getBulkOperation: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    requestMend(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
