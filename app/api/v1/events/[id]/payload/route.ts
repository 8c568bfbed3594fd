import { handle } from "@/app/_server/handle";
import { payloadResponse } from "@/app/_server/payload";
import { idParam } from "@/lib/contract/id-page";
import { readPayload } from "@/lib/store/read/event-detail";

export const GET = handle({
  run: async ({ deps, viewer, params }) =>
    payloadResponse(await readPayload(deps.db, viewer, idParam(params.id, "unknown-event"))),
});
