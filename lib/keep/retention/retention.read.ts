import { KEPT_DAYS, type Retention } from "@/lib/keep/retention/retention.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** The key of the periods among the settings: one value, so that they are changed together. */
export const RETENTION_KEY = "retention";

/** Until somebody sets the periods. */
export const INITIAL: Retention = { days: KEPT_DAYS.initial, rules: [] };

export async function readRetention(db: Queryable): Promise<Retention> {
  const [row] = await db.query<{ value: Retention }>("select value from settings where key = $1", [RETENTION_KEY], {
    name: "retention",
  });
  return row?.value ?? INITIAL;
}
