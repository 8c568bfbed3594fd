import { handle } from "@/app/_server/handle";
import { BODY_ID, REVISION_PROBLEMS } from "@/app/_server/operation";
import { byId } from "@/lib/contract/query";
import { restoreRequestSchema, revisedSchema } from "@/lib/contract/revisions";
import { restoreRevision } from "@/lib/operations/revise-event";

export const POST = handle({
  id: "restoreRevision",
  summary: "Make another revision of an event the current one",
  params: byId("unknown-event"),
  body: restoreRequestSchema,
  answer: revisedSchema,
  status: 200,
  problems: REVISION_PROBLEMS,
  links: { getRevision: { ...BODY_ID, revision: "$response.body#/revision" } },
  run: ({ deps, body, viewer, params }) => restoreRevision(deps, { ...body, id: params.id }, viewer),
});
