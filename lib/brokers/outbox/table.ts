import { addressOf, OutboxFailure } from "@/lib/brokers/outbox/connection";
import {
  type OutboxColumn,
  type OutboxConfig,
  type OutboxNames,
  outboxNames,
  REQUIRED_COLUMNS,
} from "@/lib/brokers/outbox/kind.shapes";
import type { PostgresPool } from "@/lib/platform/postgres-pool";

/** `sql`: the quoted name. `type`: as a cast takes it. */
type Column = { sql: string; name: string; type: string; base: string; readable: boolean; writable: boolean };

export type OutboxTable = Omit<OutboxNames, "columns" | "stated"> & {
  sql: string;
  columns: Partial<Record<OutboxColumn, Column>> & Record<"id" | "payload" | "status", Column>;
  attemptsMax: number | null;
  parkedStatus: string | null;
};

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const TEXTS = ["text", "varchar", "bpchar"];
const TIMES = ["timestamptz", "timestamp"];
/** Types that the part of a row can have; any other part takes any type. */
const TYPES: Partial<Record<OutboxColumn, string[]>> = {
  payload: ["json", "jsonb", "bytea", ...TEXTS],
  headers: ["json", "jsonb", ...TEXTS],
  attempts: ["int2", "int4", "int8", "numeric"],
  availableAt: TIMES,
};

type ColumnRow = { name: string; type: string; base: string; readable: boolean; writable: boolean };

const COLUMNS = `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
       coalesce(b.typname, t.typname) as base,
       has_column_privilege(a.attrelid, a.attnum, 'SELECT') as readable,
       has_column_privilege(a.attrelid, a.attnum, 'UPDATE') as writable
  from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = t.typbasetype
 where a.attrelid = to_regclass($1) and not a.attisdropped and (a.attnum > 0 or a.attname = 'xmin')`;

/**
 * The table as the configuration maps it. Rejects with OutboxFailure, which names the table, column, status or permission
 * that is missing. A column that only the layout names is left out when the table has none of that name.
 */
export async function openTable(pool: PostgresPool, config: OutboxConfig): Promise<OutboxTable> {
  const where = addressOf(config);
  const sql = config.table.split(".").map(quoted).join(".");
  const { rows: found } = await pool.query<{ relkind: string }>(
    "select relkind from pg_class where oid = to_regclass($1)",
    [sql],
  );
  if (found.length === 0)
    throw new OutboxFailure("OUTBOX_NO_TABLE", `table ${config.table} does not exist on ${where}`);
  if (!["r", "p"].includes(found[0]!.relkind))
    throw new OutboxFailure("OUTBOX_NO_TABLE", `${config.table} on ${where} is not a table: name the table itself`);
  const { rows } = await pool.query<ColumnRow>(COLUMNS, [sql]);
  const byName = new Map(rows.map((row) => [row.name, row]));
  const names = outboxNames(config);
  const columns: Partial<Record<OutboxColumn, Column>> = {};
  for (const [part, name] of Object.entries(names.columns) as [OutboxColumn, string][]) {
    const row = byName.get(name);
    const fits = row !== undefined && (TYPES[part]?.includes(row.base) ?? true);
    if (fits) columns[part] = { ...row, sql: quoted(name) };
    else if (names.stated.has(part) || REQUIRED_COLUMNS.includes(part)) throw misfit(part, name, row, config);
  }
  const table = {
    ...names,
    sql,
    columns: columns as OutboxTable["columns"],
    attemptsMax: config.attemptsMax ?? null,
    parkedStatus: config.parkedStatus ?? null,
  };
  if (table.attemptsMax !== null && columns.attempts === undefined)
    throw misfit("attempts", names.columns.attempts ?? "attempts", undefined, config);
  assertPermitted(table, byName, config);
  await assertStatuses(pool, table, config);
  return table;
}

function misfit(part: OutboxColumn, name: string, row: ColumnRow | undefined, { table }: OutboxConfig): OutboxFailure {
  if (row !== undefined)
    return new OutboxFailure(
      "OUTBOX_COLUMN_TYPE",
      `column ${name} of table ${table} is of type ${row.type}: columns.${part} must be ${TYPES[part]!.join(", ")}`,
    );
  const debezium =
    part === "status"
      ? ". A table that only Debezium reads has no status: its dead letters are in the consumer's topic"
      : "";
  return new OutboxFailure(
    "OUTBOX_NO_COLUMN",
    `table ${table} has no column ${name}: name it in columns.${part}${debezium}`,
  );
}

function permission(verb: string, names: string[], { table }: OutboxConfig, sql: string): OutboxFailure {
  const list = names.join(", ");
  return new OutboxFailure(
    "OUTBOX_NO_PERMISSION",
    `the user may not ${verb} ${list} of table ${table}: GRANT ${verb} (${names.map(quoted).join(", ")}) ON ${sql} TO it`,
  );
}

/** Reading needs SELECT on every mapped column and on xmin, which tells one version of a row from the next. */
function assertPermitted(table: OutboxTable, byName: Map<string, ColumnRow>, config: OutboxConfig): void {
  const used = Object.values(table.columns);
  const unreadable = [...used, byName.get("xmin")!].filter(({ readable }) => !readable);
  if (unreadable.length > 0)
    throw permission("SELECT", [...new Set(unreadable.map(({ name }) => name))], config, table.sql);
  if (table.parkedStatus !== null && !table.columns.status.writable)
    throw permission("UPDATE", [table.columns.status.name], config, table.sql);
}

/** Throws OutboxFailure when a redrive would be refused. The payload is written only after it was edited. */
export function assertWritable({ columns, sql }: OutboxTable, config: OutboxConfig): void {
  const written = [columns.status, columns.attempts, columns.availableAt, columns.headers];
  const refused = written.flatMap((column) => (column === undefined || column.writable ? [] : [column.name]));
  if (refused.length > 0) throw permission("UPDATE", refused, config, sql);
}

/** An enum takes no other value: found now, and not with the first row. */
async function assertStatuses(pool: PostgresPool, table: OutboxTable, config: OutboxConfig): Promise<void> {
  const { type, name } = table.columns.status;
  for (const status of [table.newStatus, table.parkedStatus].filter((value) => value !== null)) {
    await pool.query(`select $1::text::${type}`, [status]).catch((error) => {
      if ((error as { code?: string }).code !== "22P02") throw error;
      throw new OutboxFailure(
        "OUTBOX_COLUMN_TYPE",
        `column ${name} of table ${config.table} is of type ${type}, which has no value ${status}`,
        error,
      );
    });
  }
}

/** Whether a row is dead, as SQL over parameters $1 (dead statuses), $2 (new status) and $3 (attempts or null). */
export function deadSql({ columns: { status, attempts } }: OutboxTable, row = ""): string {
  const of = (column: Column) => `${row}${column.sql}`;
  const late = attempts === undefined ? "" : ` and ${of(attempts)} >= $3::int`;
  return `(${of(status)}::text = any($1::text[]) or ($3::int is not null and ${of(status)}::text = $2::text${late}))`;
}

export function deadValues({ deadStatuses, newStatus, attemptsMax }: OutboxTable): [string[], string, number | null] {
  return [[...deadStatuses], newStatus, attemptsMax];
}

/** Counting further than this costs the server more than the exact figure is worth. */
const COUNT_MAX = 100_000;

/** How many rows are dead; null beyond a bound. */
export async function countDead(pool: PostgresPool, table: OutboxTable): Promise<number | null> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from (select from ${table.sql} where ${deadSql(table)} limit ${COUNT_MAX + 1}) as dead`,
    deadValues(table),
  );
  return rows[0]!.n > COUNT_MAX ? null : rows[0]!.n;
}
