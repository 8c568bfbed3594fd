import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { readEventDetail } from "@/lib/store/read/event-detail";

export const GET = handle({
  run: ({ deps, viewer, params, nowMs }) =>
    readEventDetail(deps.lists, viewer, idParam(params.id, "unknown-event"), nowMs),
});
