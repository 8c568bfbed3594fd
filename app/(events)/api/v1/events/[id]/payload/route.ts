import { handle } from "@/app/_server/handle";
import { payloadResponse } from "@/app/_server/payload";
import { readPayload } from "@/lib/events/detail/event-detail.read";
import { byId } from "@/lib/platform/api/query.shapes";
import { revisionQuery } from "@/lib/repair/revisions/revisions.shapes";

export const GET = handle({
  id: "readPayload",
  summary: "The exact bytes of a payload with its content type, of the current revision unless one is named",
  params: byId("unknown-event"),
  query: revisionQuery,
  problems: ["unknown-revision"],
  answer: { media: ["*/*"] },
  run: async ({ deps, viewer, params, query }) =>
    payloadResponse(await readPayload(deps.db, viewer, params.id, query.revision)),
});
