import { handle } from "@/app/_server/handle";
import { bulkOperationChangeSchema } from "@/lib/contract/bulk-operations";
import { idParam } from "@/lib/contract/id-page";
import { cancelBulkOperation } from "@/lib/operations/cancel-bulk-operation";
import { unknownOperation } from "@/lib/operations/select-events";
import type { Queryable } from "@/lib/store/db";
import { readBulkOperation } from "@/lib/store/read/bulk-operations";

async function shown(db: Queryable, id: string) {
  const operation = await readBulkOperation(db, id);
  if (!operation) throw unknownOperation(id);
  return operation;
}

export const GET = handle({ run: ({ deps, params }) => shown(deps.db, idParam(params.id, "unknown-operation")) });

export const PATCH = handle({
  body: bulkOperationChangeSchema,
  run: async ({ deps, params, body, viewer }) => {
    const id = idParam(params.id, "unknown-operation");
    await cancelBulkOperation(deps, { id, reason: body.reason }, viewer);
    return shown(deps.db, id);
  },
});
