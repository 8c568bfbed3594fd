import type { Queryable } from "@/lib/platform/database/db";
import { BULK } from "@/lib/states/state.sql";

/** Why removals and expiries stand still, in one sentence; null = none does. */
export async function readArchiveFault(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ fault: string }>(
    `select fault from bulk_operations
      where state = ${BULK.RUNNING} and kind in ('remove', 'expire') and fault is not null order by id limit 1`,
    [],
    { name: "archive-fault" },
  );
  return row?.fault ?? null;
}
