import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, EDIT_PROBLEMS } from "@/app/_server/operation";
import { byId } from "@/lib/platform/api/query.shapes";
import { readRevisions } from "@/lib/repair/revisions/event-revisions.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { editedSchema, editRequestSchema, revisionListSchema } from "@/lib/repair/revisions/revisions.shapes";

export const GET = handle({
  id: "listRevisions",
  summary: "The revisions of an event, newest first, with what sent them",
  params: byId("unknown-event"),
  answer: revisionListSchema,
  run: ({ deps, viewer, params }) => readRevisions(deps.lists, viewer, params.id),
});

export const POST = handle({
  id: "editEvent",
  summary: "Add a revision, which becomes the current one",
  params: byId("unknown-event"),
  body: editRequestSchema,
  largeBody: true,
  idempotent: "own",
  status: 201,
  answer: editedSchema,
  problems: EDIT_PROBLEMS,
  links: { getRevision: { ...BODY_ID, revision: "$response.body#/revision" } },
  run: ({ deps, request, body, viewer, params: { id } }) => {
    const idempotency = idempotencyOf(request, viewer, body);
    return editEvent(deps, { ...body, id, idempotency, headersMax: deps.env.headersMax }, viewer);
  },
});
