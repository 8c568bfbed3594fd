import { handle } from "@/app/_server/handle";
import { readGroupDetail } from "@/lib/events/groups/group-detail.read";
import { byFingerprint, groupDetailQuery, groupDetailSchema } from "@/lib/events/groups/groups.shapes";

export const GET = handle({
  id: "getGroup",
  summary: "A group: since when it rises, who is affected, what was done to it before",
  params: byFingerprint,
  query: groupDetailQuery,
  answer: groupDetailSchema,
  coalesce: true,
  run: ({ deps, viewer, params: { fingerprint }, query: within, nowMs }) =>
    readGroupDetail(deps.db, viewer, { fingerprint, within }, nowMs),
});
