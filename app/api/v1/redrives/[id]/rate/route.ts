import { handle } from "@/app/_server/handle";
import { redriveRateSchema } from "@/lib/contract/redrives";
import { byId } from "@/lib/platform/api/query.shapes";
import { readRedriveRate } from "@/lib/store/read/redrives";

export const GET = handle({
  id: "readRedriveRate",
  summary: "Sends over time, in buckets of 5 seconds",
  params: byId("unknown-redrive"),
  answer: redriveRateSchema,
  run: ({ deps, viewer, params, nowMs }) => readRedriveRate(deps.db, viewer, params.id, nowMs),
});
