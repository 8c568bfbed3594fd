import type { Db } from "@/lib/platform/database/db";

/**
 * Sorts half a megabyte in a temporary file. On a full disk a small row may still fit into an existing page, so that
 * the write alone would report a healthy store.
 */
const SPILL = "select count(*) from (select n from generate_series(1, 20000) n order by -n offset 0) sorted";

/** Writes like an event: a commit, and new bytes on the disk. Rejects with DomainError `store-unavailable`. */
export async function probeWrite(db: Db): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run("set local work_mem = '64kB'");
    await tx.run(SPILL);
    await tx.run(
      "insert into readiness_probe (id, at) values (1, now()) on conflict (id) do update set at = excluded.at",
    );
  });
}
