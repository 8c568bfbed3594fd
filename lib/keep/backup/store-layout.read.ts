import type { Queryable, Tx } from "@/lib/platform/database/db";

export type StoredTable = { name: string; columns: string[] };
export type StoredPartition = { parent: string; name: string; bound: string; options: string[] };
export type StoreLayout = {
  migrations: { name: string; sha256: string }[];
  /** Tables with rows of their own, each after those that it refers to. */
  tables: StoredTable[];
  partitions: StoredPartition[];
  sequences: { name: string; last: string }[];
};

/** Kept by the migrations themselves, which a restore runs again. */
export const MIGRATIONS_TABLE = "_prisma_migrations";

/** Not of an extension that somebody else has put there. */
const OWN = `n.nspname = 'public'
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

/** null = the store was never migrated. */
export async function readAppliedMigrations(store: Queryable): Promise<StoreLayout["migrations"] | null> {
  const [found] = await store.query<{ known: boolean }>(
    `select to_regclass('public.${MIGRATIONS_TABLE}') is not null as known`,
  );
  if (!found!.known) return null;
  return store.query(
    `select migration_name as name, checksum as sha256 from public.${MIGRATIONS_TABLE}
      where rolled_back_at is null and finished_at is not null order by migration_name`,
  );
}

/** What the store consists of, read from PostgreSQL's catalogue: a table that a migration adds is found here. */
export async function readStoreLayout(tx: Tx): Promise<StoreLayout> {
  const migrations = await readAppliedMigrations(tx);
  const rows = await tx.query<StoredTable & { parent: string | null; bound: string | null; options: string[] }>(
    `select c.relname::text as name,
            array(select a.attname::text from pg_attribute a
                   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
                   order by a.attnum) as columns,
            p.relname::text as parent, pg_get_expr(c.relpartbound, c.oid) as bound, coalesce(c.reloptions, '{}') as options
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
      where ${OWN} and c.relkind = 'r' and c.relname <> $1
      order by c.relname`,
    [MIGRATIONS_TABLE],
  );
  const references = await tx.query<{ from: string; to: string }>(
    `select f.conrelid::regclass::text as "from", f.confrelid::regclass::text as "to"
       from pg_constraint f join pg_class c on c.oid = f.conrelid join pg_namespace n on n.oid = c.relnamespace
      where ${OWN} and f.contype = 'f' and f.conrelid <> f.confrelid`,
  );
  const sequences = await tx.query<{ name: string; last: string }>(
    `select sequencename::text as name, last_value::text as last from pg_sequences
      where schemaname = 'public' and last_value is not null order by 1`,
  );
  return {
    migrations: migrations ?? [],
    tables: inOrder(
      rows.map(({ name, columns }) => ({ name, columns })),
      references,
    ),
    partitions: rows.flatMap(({ name, parent, bound, options }) =>
      parent === null || bound === null ? [] : [{ parent, name, bound, options }],
    ),
    sequences,
  };
}

/** Each table after the tables that it refers to; references go in no circle. */
function inOrder(tables: StoredTable[], references: readonly { from: string; to: string }[]): StoredTable[] {
  const placed = new Map<string, StoredTable>();
  const place = (table: StoredTable) => {
    if (placed.has(table.name)) return;
    for (const { from, to } of references) {
      const other = from === table.name ? tables.find(({ name }) => name === to) : undefined;
      if (other) place(other);
    }
    placed.set(table.name, table);
  };
  for (const table of tables) place(table);
  return [...placed.values()];
}

/** Text of values that does not depend on the settings of a server or a role, as pg_dump sets it. */
const SAME_TEXT = `set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
  set local extra_float_digits = 3; set local bytea_output = 'hex'; set local synchronize_seqscans = off; set local row_security = off`;

/** For the transaction: each value has one text, and no rule hides a row. */
export async function fixTexts(tx: Tx): Promise<void> {
  await tx.run(SAME_TEXT);
}

/** The rows of a table in COPY's text format. */
export function rowsOf(tx: Tx, { name, columns }: StoredTable): AsyncIterable<Buffer> {
  return tx.copyOut(`copy public.${name} (${quoted(columns)}) to stdout (format text, encoding 'UTF8')`);
}

/** Names of columns may be words of SQL, such as `before`. */
export function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
