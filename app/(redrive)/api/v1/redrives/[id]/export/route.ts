import { fileResponse } from "@/app/_server/export";
import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { exportRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { type RedriveItemOut, redriveItemsExportQuery } from "@/lib/redrive/list/redrive-items.shapes";

const COLUMNS = [
  ...(["id", "source", "eventId", "aggregateId", "version", "errorCode", "state", "outcome", "result"] as const),
  ...(["detail", "attempts", "stopped", "findings", "finishedAt"] as const),
] satisfies (keyof RedriveItemOut)[];

export const GET = handle({
  id: "exportRedriveItems",
  summary: "The events of a redrive by outcome, with their findings, as a stream",
  params: byId("unknown-redrive"),
  query: redriveItemsExportQuery,
  answer: { media: ["application/x-ndjson", "text/csv"] },
  run: ({ deps, viewer, params: { id }, query: { format, bom, ...query } }) =>
    fileResponse(exportRedriveItems(deps.lists, viewer, { redriveId: id, state: null, ...query }), {
      columns: COLUMNS,
      format,
      bom,
      name: `redrive-${[id, ...(query.outcome?.split(",") ?? [])].join("-")}`,
    }),
});
