import type { Tx } from "@/lib/store/db";
import { selectedWhere } from "@/lib/store/read/candidates";

/**
 * Freezes the selected events with their current revisions. Returns how many there are; when they are more than `most`
 * the caller must roll back.
 */
export async function freezeMend(
  tx: Tx,
  operationId: string,
  page: Parameters<typeof selectedWhere>[1] & { cutoff: string },
  most: number,
): Promise<number> {
  const { where, values } = await selectedWhere(tx, page, 4);
  return tx.run(
    `insert into mend_items (operation_id, event_id, base)
     select $1, e.id, e.revision from dlq_event_rows e where e.id <= $2 and ${where} limit $3`,
    [operationId, page.cutoff, most + 1, ...values],
  );
}
