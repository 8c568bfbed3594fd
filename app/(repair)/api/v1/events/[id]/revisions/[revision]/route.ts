import { handle } from "@/app/_server/handle";
import { readRevision } from "@/lib/repair/revisions/event-revisions.read";
import { byRevision, revisionDetailSchema } from "@/lib/repair/revisions/revisions.shapes";

export const GET = handle({
  id: "getRevision",
  summary: "One revision of an event with its body and headers",
  params: byRevision,
  answer: revisionDetailSchema,
  run: ({ deps, viewer, params }) => readRevision(deps.lists, viewer, params.id, params.revision),
});
