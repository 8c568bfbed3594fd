import { handle } from "@/app/_server/handle";
import { payloadResponse, revealReason } from "@/app/_server/payload";
import { byId } from "@/lib/platform/api/query.shapes";
import { revealPayload } from "@/lib/repair/revisions/reveal-event";
import { payloadQuery } from "@/lib/repair/revisions/revisions.shapes";

export const GET = handle({
  id: "readPayload",
  summary: "The exact bytes of a payload with its content type, of the current revision unless one is named; audited",
  params: byId("unknown-event"),
  query: payloadQuery,
  problems: ["unknown-revision", "reason-required"],
  answer: { media: ["*/*"] },
  run: async ({ deps, viewer, params: { id }, query, request }) => {
    const reason = revealReason(request, viewer, query.reason);
    return payloadResponse(await revealPayload(deps, { id, reason, revision: query.revision }, viewer));
  },
});
