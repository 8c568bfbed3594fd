import { handle } from "@/app/_server/handle";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { bulkOperationChangeSchema, bulkOperationSchema } from "@/lib/events/bulk/bulk-operations.shapes";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { changeOperationChannels } from "@/lib/events/bulk/change-operation-channels";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-operation");

export const GET = handle({
  id: "getBulkOperation",
  summary: "One bulk operation with its progress",
  params,
  answer: bulkOperationSchema,
  links: { listAuditEvents: { id: "$response.body#/auditId" } },
  coalesce: true,
  run: ({ deps, viewer, params: { id } }) => readBulkOperation(deps.db, viewer, id),
});

export const PATCH = handle({
  id: "changeBulkOperation",
  summary: "Cancel it: events that it has changed stay changed; or choose the channels that are notified of its end",
  params,
  body: bulkOperationChangeSchema,
  answer: bulkOperationSchema,
  problems: ["illegal-transition", "channel-not-found"],
  run: async ({ deps, viewer, params: { id }, body }) => {
    if ("tell" in body) await changeOperationChannels(deps, { id, tell: body.tell }, viewer);
    else await cancelBulkOperation(deps, { id, reason: body.reason }, viewer);
    return readBulkOperation(deps.db, viewer, id);
  },
});
