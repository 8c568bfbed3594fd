import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { byId } from "@/lib/platform/api/query.shapes";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { changedRedriveSchema, redriveSchema } from "@/lib/redrive/redrives.shapes";
import { redriveChangeSchema } from "@/lib/redrive/request/redrive-request.shapes";

const params = byId("unknown-redrive");

export const GET = handle({
  id: "getRedrive",
  summary: "One redrive with its progress",
  params,
  answer: redriveSchema,
  links: { listRedriveItems: BODY_ID, readRedriveCauses: BODY_ID, readRedriveRate: BODY_ID, changeRedrive: BODY_ID },
  coalesce: true,
  run: ({ deps, viewer, params: { id }, nowMs }) => readRedrive(deps.db, viewer, id, nowMs),
});

export const PATCH = handle({
  id: "changeRedrive",
  summary: "Pause, resume, cancel (says how many sends are under way), or change its rate or lane",
  params,
  body: redriveChangeSchema,
  answer: changedRedriveSchema,
  problems: ["illegal-transition", "above-ceiling", "channel-not-found"],
  run: async ({ deps, params: { id }, body, viewer, nowMs }) => {
    const { underWay } = await changeRedrive(deps, { id, change: body }, viewer);
    return { ...(await readRedrive(deps.db, viewer, id, nowMs)), underWay };
  },
});
