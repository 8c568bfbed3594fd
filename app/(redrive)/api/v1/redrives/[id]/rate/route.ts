import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { readRedriveRate } from "@/lib/redrive/list/redrives.read";
import { redriveRateSchema } from "@/lib/redrive/redrives.shapes";

export const GET = handle({
  id: "readRedriveRate",
  summary: "Sends over time, in buckets of 5 seconds",
  params: byId("unknown-redrive"),
  answer: redriveRateSchema,
  run: ({ deps, viewer, params, nowMs }) => readRedriveRate(deps.db, viewer, params.id, nowMs),
});
