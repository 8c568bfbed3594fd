import { handle } from "@/app/_server/handle";
import { idPageFrom, idParam } from "@/lib/contract/id-page";
import { redriveItemsFrom } from "@/lib/contract/redrives";
import { listRedriveItems } from "@/lib/store/read/redrives";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), ...redriveItemsFrom(params) }),
  run: ({ deps, viewer, params, query }) =>
    listRedriveItems(deps.db, viewer, {
      redriveId: idParam(params.id, "unknown-redrive"),
      ...query,
    }),
});
