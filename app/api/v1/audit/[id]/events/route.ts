import { handle } from "@/app/_server/handle";
import { idPageFrom, idParam, namedParams } from "@/lib/contract/id-page";
import { listAuditEvents } from "@/lib/store/read/audit-list";

export const GET = handle({
  query: (params) => {
    namedParams(params, []);
    return idPageFrom(params);
  },
  run: ({ deps, viewer, params, query }) =>
    listAuditEvents(deps.db, viewer, idParam(params.id, "unknown-audit-entry"), query),
});
