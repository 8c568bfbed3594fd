import { handle } from "@/app/_server/handle";
import { bulkOperationChangeSchema } from "@/lib/contract/bulk-operations";
import { idParam } from "@/lib/contract/id-page";
import type { Viewer } from "@/lib/core/viewer";
import { cancelBulkOperation } from "@/lib/operations/cancel-bulk-operation";
import { unknownOperation } from "@/lib/operations/select-events";
import type { Queryable } from "@/lib/store/db";
import { readBulkOperation } from "@/lib/store/read/bulk-operations";

async function shown(db: Queryable, viewer: Viewer, id: string) {
  const operation = await readBulkOperation(db, viewer, id);
  if (!operation) throw unknownOperation(id);
  return operation;
}

export const GET = handle({
  run: ({ deps, viewer, params }) => shown(deps.db, viewer, idParam(params.id, "unknown-operation")),
});

export const PATCH = handle({
  body: bulkOperationChangeSchema,
  run: async ({ deps, params, body, viewer }) => {
    const id = idParam(params.id, "unknown-operation");
    await cancelBulkOperation(deps, { id, reason: body.reason }, viewer);
    return shown(deps.db, viewer, id);
  },
});
