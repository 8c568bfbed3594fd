import { handle } from "@/app/_server/handle";
import { INGEST_MEDIA, INGEST_PROBLEMS } from "@/app/_server/intake/ingest";
import { ingestOnce } from "@/app/_server/intake/ingest-once";
import { signerOf } from "@/app/_server/intake/signed-intake";
import { withSourceHints } from "@/app/_server/named-sources";
import { eventListSchema, parkAnswerSchema } from "@/lib/events/events.shapes";
import { listEvents } from "@/lib/events/list/event-list.read";
import { eventPageQuery } from "@/lib/events/list/event-page.shapes";
import { ingestQuery, ingestSchema } from "@/lib/intake/event-in.shapes";

export const GET = handle({
  id: "listEvents",
  summary: "List events, newest first or by the time of their last failure",
  query: eventPageQuery,
  answer: eventListSchema,
  run: async (call) => {
    const list = await listEvents(call.deps.lists, call.viewer, call.query, call.nowMs);
    // A list is polled: one that has events is not looked into further.
    const sources = list.items.length === 0 ? call.query.filter.source : undefined;
    return withSourceHints(call, { sources }, list);
  },
});

export const POST = handle({
  id: "parkEvents",
  summary: "Park events: one, an array, { events }, NDJSON, or CloudEvents structured, binary, batch",
  query: ingestQuery,
  body: ingestSchema,
  bodyMedia: INGEST_MEDIA,
  idempotent: "own",
  status: 202,
  answer: parkAnswerSchema,
  problems: INGEST_PROBLEMS,
  signer: signerOf,
  run: ingestOnce,
});
