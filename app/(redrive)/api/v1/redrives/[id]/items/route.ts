import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { listRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { redriveItemListSchema, redriveItemsQuery } from "@/lib/redrive/list/redrive-items.shapes";
import { withRefusingControls } from "@/lib/redrive/list/refusing-controls.read";

export const GET = handle({
  id: "listRedriveItems",
  summary: "The events of a redrive by outcome, with their findings",
  params: byId("unknown-redrive"),
  query: redriveItemsQuery,
  answer: redriveItemListSchema,
  run: async ({ deps, viewer, params, query, nowMs }) => {
    const list = await listRedriveItems(deps.lists, viewer, { redriveId: params.id, ...query });
    return withRefusingControls(deps.db, viewer, list, nowMs);
  },
});
