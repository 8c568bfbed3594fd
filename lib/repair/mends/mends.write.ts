import type { Tx } from "@/lib/platform/database/db";
import { selectedWhere } from "@/lib/selection/candidates.read";

/** Names the sources of the frozen events in the operation's selection: whoever sees all of them sees the operation. */
export async function nameSources(tx: Tx, operationId: string): Promise<void> {
  const rows = await tx.query<{ name: string }>(
    `select s.name from sources s where s.id in (
       select e.source_id from mend_items i join dlq_events e on e.id = i.event_id where i.operation_id = $1) order by 1`,
    [operationId],
  );
  await tx.run(
    "update bulk_operations set selection = selection || jsonb_build_object('sources', $2::jsonb) where id = $1",
    [operationId, JSON.stringify(rows.map(({ name }) => name))],
  );
}

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
