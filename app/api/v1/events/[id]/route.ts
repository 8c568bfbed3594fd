import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { readEventDetail } from "@/lib/store/read/event-detail";

export const GET = handle({
  run: ({ deps, params, nowMs }) => readEventDetail(deps.db, idParam(params.id, "unknown-event"), nowMs),
});
