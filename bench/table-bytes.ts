import type { Db } from "@/lib/platform/database/db";

type Counted = {
  events: number;
  /** Default: every table that has a byte for each event. */
  tables?: readonly string[];
};

/** Bytes for each event, of tables and their partitions, with indexes and what is stored out of line. The largest first. */
export async function bytesByTable(db: Db, { events, tables }: Counted): Promise<Record<string, number>> {
  const rows = await db.query<{ name: string; bytes: number }>(
    `select coalesce(p.inhparent::regclass, c.oid::regclass)::text as name, sum(pg_total_relation_size(c.oid))::float8 as bytes
       from pg_class c left join pg_inherits p on p.inhrelid = c.oid
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace group by 1 order by 2 desc`,
  );
  const counted = rows.map(({ name, bytes }) => [name, Math.round(bytes / events)] as const);
  return Object.fromEntries(counted.filter(([name, n]) => tables?.includes(name) ?? n > 0));
}
