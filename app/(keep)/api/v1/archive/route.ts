import { handle } from "@/app/_server/handle";
import { archivedListSchema, archivedQuery } from "@/lib/keep/archive/archive.shapes";
import { listArchivedEvents } from "@/lib/keep/archive/archived-events.read";

export const GET = handle({
  id: "listArchivedEvents",
  summary: "Archived events, newest first",
  query: archivedQuery,
  answer: archivedListSchema,
  run: async ({ deps, viewer, query }) => ({
    ...(await listArchivedEvents(deps.db, viewer, query)),
    place: deps.archive?.place ?? null,
  }),
});
