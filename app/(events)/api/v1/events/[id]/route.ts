import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { eventDetailSchema } from "@/lib/events/events.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

export const GET = handle({
  id: "getEvent",
  summary: "One event with body, headers, error, origin and history",
  params: byId("unknown-event"),
  answer: eventDetailSchema,
  links: {
    readPayload: BODY_ID,
    readNeighbours: BODY_ID,
    listAudit: { eventId: BODY_ID.id },
    getRedrive: { id: "$response.body#/history/0/redriveId" },
  },
  run: ({ deps, viewer, params, nowMs }) => readEventDetail(deps.lists, viewer, params.id, nowMs),
});
