import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { listRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { redriveItemListSchema, redriveItemsQuery } from "@/lib/redrive/list/redrive-items.shapes";

export const GET = handle({
  id: "listRedriveItems",
  summary: "The events of a redrive by outcome, with their findings",
  params: byId("unknown-redrive"),
  query: redriveItemsQuery,
  answer: redriveItemListSchema,
  run: ({ deps, viewer, params, query }) => listRedriveItems(deps.db, viewer, { redriveId: params.id, ...query }),
});
