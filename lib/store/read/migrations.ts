import type { Queryable } from "@/lib/store/db";

/** How many migrations are in force, and the names of those that were begun and not finished. */
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
