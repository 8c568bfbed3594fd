import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { compareRevisions } from "@/lib/repair/revisions/event-revisions.read";
import { compareQuery, comparisonSchema } from "@/lib/repair/revisions/revisions.shapes";

export const GET = handle({
  id: "compareRevisions",
  summary: "Two revisions of an event, and which of their parts are equal",
  params: byId("unknown-event"),
  query: compareQuery,
  answer: comparisonSchema,
  problems: ["unknown-revision"],
  run: ({ deps, viewer, params, query }) => compareRevisions(deps.lists, viewer, params.id, query),
});
