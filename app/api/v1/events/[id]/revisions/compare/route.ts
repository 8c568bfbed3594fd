import { handle } from "@/app/_server/handle";
import { compareQuery, comparisonSchema } from "@/lib/contract/revisions";
import { byId } from "@/lib/platform/api/query.shapes";
import { compareRevisions } from "@/lib/store/read/event-revisions";

export const GET = handle({
  id: "compareRevisions",
  summary: "Two revisions of an event, and which of their parts are equal",
  params: byId("unknown-event"),
  query: compareQuery,
  answer: comparisonSchema,
  problems: ["unknown-revision"],
  run: ({ deps, viewer, params, query }) => compareRevisions(deps.lists, viewer, params.id, query),
});
