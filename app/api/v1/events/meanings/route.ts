import { handle } from "@/app/_server/handle";
import { meaningsQuery, meaningsSchema } from "@/lib/contract/meanings";
import { readMeanings } from "@/lib/store/read/event-meanings";

export const GET = handle({
  id: "readMeanings",
  summary: "What a text names: an event, an aggregate, a trace, an error code",
  query: meaningsQuery,
  answer: meaningsSchema,
  run: ({ deps, viewer, query, nowMs }) => readMeanings(deps.db, viewer, query.text, nowMs),
});
