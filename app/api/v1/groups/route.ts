import { handle } from "@/app/_server/handle";
import { eventPageFrom } from "@/lib/contract/event-page";
import { listGroups } from "@/lib/store/read/group-list";

export const GET = handle({
  query: eventPageFrom,
  run: ({ deps, viewer, query, nowMs }) => listGroups(deps.db, viewer, query, nowMs),
});
