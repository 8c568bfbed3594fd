import { handle } from "@/app/_server/handle";
import { byRevision, revisionDetailSchema } from "@/lib/contract/revisions";
import { readRevision } from "@/lib/store/read/event-revisions";

export const GET = handle({
  id: "getRevision",
  summary: "One revision of an event with its body and headers",
  params: byRevision,
  answer: revisionDetailSchema,
  run: ({ deps, viewer, params }) => readRevision(deps.lists, viewer, params.id, params.revision),
});
