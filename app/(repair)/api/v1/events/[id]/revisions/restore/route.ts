import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, REVISION_PROBLEMS } from "@/app/_server/operation";
import { byId } from "@/lib/platform/api/query.shapes";
import { restoreRevision } from "@/lib/repair/revisions/revise-event";
import { restoreRequestSchema, revisedSchema } from "@/lib/repair/revisions/revisions.shapes";

export const POST = handle({
  id: "restoreRevision",
  summary: "Make another revision of an event the current one",
  params: byId("unknown-event"),
  body: restoreRequestSchema,
  idempotent: "own",
  answer: revisedSchema,
  status: 200,
  problems: REVISION_PROBLEMS,
  links: { getRevision: { ...BODY_ID, revision: "$response.body#/revision" } },
  run: ({ deps, request, body, viewer, params: { id } }) =>
    restoreRevision(deps, { ...body, id, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
