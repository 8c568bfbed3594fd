import { handle } from "@/app/_server/handle";
import { idPageFrom, idParam, namedParams } from "@/lib/contract/id-page";
import { listRedriveItems } from "@/lib/store/read/redrives";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), ...namedParams(params, ["state", "result"]) }),
  run: ({ deps, params, query }) =>
    listRedriveItems(deps.db, {
      redriveId: idParam(params.id, "unknown-redrive"),
      limit: query.limit,
      cursor: query.cursor,
      state: query.state ?? null,
      result: query.result ?? null,
    }),
});
