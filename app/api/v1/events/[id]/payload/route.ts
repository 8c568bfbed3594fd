import { handle } from "@/app/_server/handle";
import { payloadResponse } from "@/app/_server/payload";
import { byId } from "@/lib/contract/query";
import { readPayload } from "@/lib/store/read/event-detail";

export const GET = handle({
  id: "readPayload",
  summary: "The exact bytes of a payload, with the content type it was parked with",
  params: byId("unknown-event"),
  answer: { media: ["*/*"] },
  run: async ({ deps, viewer, params }) => payloadResponse(await readPayload(deps.db, viewer, params.id)),
});
