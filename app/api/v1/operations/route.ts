import { handle } from "@/app/_server/handle";
import { bulkStatesFrom } from "@/lib/contract/bulk-operations";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { listBulkOperations } from "@/lib/store/read/bulk-operations";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), states: bulkStatesFrom(namedParams(params, ["state"]).state) }),
  run: ({ deps, viewer, query }) => listBulkOperations(deps.db, viewer, query),
});
