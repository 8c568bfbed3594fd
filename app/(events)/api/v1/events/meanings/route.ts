import { handle } from "@/app/_server/handle";
import { readMeanings } from "@/lib/events/event-meanings.read";
import { meaningsQuery, meaningsSchema } from "@/lib/events/meanings.shapes";

export const GET = handle({
  id: "readMeanings",
  summary: "What a text names: an event, an aggregate, a trace, an error code",
  query: meaningsQuery,
  answer: meaningsSchema,
  run: ({ deps, viewer, query, nowMs }) => readMeanings(deps.db, viewer, query.text, nowMs),
});
