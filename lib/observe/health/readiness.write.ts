import type { Db, Queryable } from "@/lib/platform/database/db";
import { IS_ALIVE } from "@/lib/sources/targets/target-list.read";

/** Sorts half a megabyte in a temporary file: on a full disk a small row may still fit into an existing page. */
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

/** The number of finished migrations, and the names of the migrations that began and did not finish. */
export async function readMigrations(db: Queryable): Promise<{ applied: number; unfinished: string[] }> {
  const rows = await db.query<{ name: string; finished: boolean }>(
    `select migration_name as name, finished_at is not null as finished from _prisma_migrations
      where rolled_back_at is null`,
  );
  return {
    applied: rows.filter((row) => row.finished).length,
    unfinished: rows.filter((row) => !row.finished).map((row) => row.name),
  };
}

/** The number of workers with a recent heartbeat, by the clock of the store. */
export async function readWorkersAlive(db: Queryable): Promise<number> {
  const [row] = await db.query<{ alive: number }>(`select count(*) as alive from worker_heartbeats where ${IS_ALIVE}`);
  return row!.alive;
}
