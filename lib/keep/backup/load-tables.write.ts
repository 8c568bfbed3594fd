import { quoted, type StoredPartition, type StoredTable } from "@/lib/keep/backup/store-layout.read";
import type { Queryable, Tx } from "@/lib/platform/database/db";

/** Names of the tables that the migrations have made, with their days. */
export async function readTableNames(store: Queryable): Promise<Set<string>> {
  const rows = await store.query<{ name: string }>(
    `select c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind = 'r'`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Makes a day of a table as `partitions.write.ts` does. */
export async function makePartition(tx: Tx, { parent, name, bound, options }: StoredPartition): Promise<void> {
  const storage = options.length === 0 ? "" : ` with (${options.join(", ")})`;
  await tx.run(`create table public.${name} (like public.${parent} including all)${storage}`);
  await tx.run(`alter table public.${parent} attach partition public.${name} ${bound}`);
}

/** Puts the rows in place of those that a migration has written. */
export async function loadRows(tx: Tx, { name, columns }: StoredTable, rows: AsyncIterable<Buffer>): Promise<void> {
  await tx.run(`delete from public.${name}`);
  await tx.copyIn(`copy public.${name} (${quoted(columns)}) from stdin (format text, encoding 'UTF8')`, rows);
}

export async function setSequence(tx: Tx, { name, last }: { name: string; last: string }): Promise<void> {
  await tx.query("select setval($1::regclass, $2::bigint)", [`public.${name}`, last]);
}

/** Statistics without which the first lists of a large store read whole tables. */
export async function analyzeTables(tx: Tx): Promise<void> {
  await tx.run("analyze");
}
