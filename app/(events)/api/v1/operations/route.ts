import { handle } from "@/app/_server/handle";
import { listBulkOperations } from "@/lib/events/bulk/bulk-operations.read";
import { bulkOperationListSchema, bulkOperationsQuery } from "@/lib/events/bulk/bulk-operations.shapes";

export const GET = handle({
  id: "listBulkOperations",
  summary: "Bulk operations, newest first: ignores, releases and confirms of more than 2,000 events",
  query: bulkOperationsQuery,
  answer: bulkOperationListSchema,
  coalesce: true,
  run: ({ deps, viewer, query }) => listBulkOperations(deps.db, viewer, query),
});
