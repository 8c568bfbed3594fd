import type { Tx } from "@/lib/platform/database/db";

/** How long a control is listed after it was lifted or expired. The audit keeps who imposed and lifted it. */
const ENDED_KEPT_DAYS = 90;
/** The most controls of one statement, and the most statements of one round; the next round continues. */
const PAGE = 5_000;
const PAGES = 20;

/** SQL: the control `c` ended long ago. In the words of the index controls_by_end. */
const ENDED_LONG_AGO = `(c.lifted_at is not null or c.expires_at is not null)
  and least(c.lifted_at, c.expires_at) < now() - interval '${ENDED_KEPT_DAYS} days'`;

/** Removes controls that ended long ago. Parkade imposes one on each aggregate that keeps failing. */
export async function removeOldControls(db: Pick<Tx, "run">): Promise<void> {
  for (let page = 0, removed = PAGE; page < PAGES && removed === PAGE; page++) {
    // Asked again of the row that is deleted: Undo may have put it in force meanwhile.
    removed = await db.run(
      `delete from controls c using (select c.id from controls c where ${ENDED_LONG_AGO} limit ${PAGE}) page
        where c.id = page.id and ${ENDED_LONG_AGO}`,
      [],
      { name: "old-controls" },
    );
  }
}
