import type { Queryable } from "@/lib/platform/database/db";
import { REDRIVE } from "@/lib/redrive/states/state.sql";

/** What goes on when the stop of a restored store is lifted. */
export type RestoredWork = { redrives: number; rules: number };

const GO_ON = [REDRIVE.PLANNING, REDRIVE.PLANNED, REDRIVE.RUNNING].join(", ");

/** Redrives that run or are about to, and redrive rules that are switched on. */
export async function readRestoredWork(store: Queryable): Promise<RestoredWork> {
  const [row] = await store.query<RestoredWork>(
    `select (select count(*) from redrives r where r.mode = 'deliver' and r.state in (${GO_ON})) as redrives,
            (select count(*) from redrive_rules where enabled) as rules`,
  );
  return row!;
}
