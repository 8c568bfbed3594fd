import { handle } from "@/app/_server/handle";
import { ingestOnce } from "@/app/_server/ingest-once";
import { eventPageFrom } from "@/lib/contract/event-page";
import { namedParams } from "@/lib/contract/id-page";
import { listEvents } from "@/lib/store/read/event-list";

export const GET = handle({
  query: eventPageFrom,
  run: ({ deps, viewer, query, nowMs }) => listEvents(deps.lists, viewer, query, nowMs),
});

export const POST = handle({
  query: (params) => ({ source: namedParams(params, ["source"]).source ?? null }),
  status: 202,
  run: ingestOnce,
});
