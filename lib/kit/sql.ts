/**
 * Anything that runs one SQL statement with `$1`, `$2` ... as parameters: a client, pool or transaction of `pg`, a Prisma
 * client or interactive transaction, a Knex transaction, a Drizzle transaction by `drizzleSession`, or an own object with
 * `query(text, values)`.
 */
export type SqlSession = QuerySession | PrismaSession | KnexSession;

type Row = Record<string, unknown>;
type QuerySession = { query(text: string, values: unknown[]): Promise<unknown> };
type PrismaSession = { $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown> };
type KnexSession = { raw(text: string, bindings: readonly unknown[]): PromiseLike<unknown> };

/** Runs one statement and resolves with its rows. */
export type RunSql = <T = Row>(text: string, values: unknown[]) => Promise<T[]>;

/** How this session runs SQL. Throws TypeError for an object that runs none. */
export function runnerOf(session: SqlSession): RunSql {
  if (has(session, "$queryRawUnsafe")) {
    return async (text, values) => rowsOf(await (session as PrismaSession).$queryRawUnsafe(text, ...values));
  }
  if (has(session, "query")) {
    return async (text, values) => rowsOf(await (session as QuerySession).query(text, values));
  }
  if (has(session, "raw")) {
    return async (text, values) => rowsOf(await (session as KnexSession).raw(...positional(text, values)));
  }
  throw new TypeError(
    "tx cannot run SQL: pass a pg client, a Prisma or Knex transaction, drizzleSession(tx, sql), or an object with query(text, values)",
  );
}

function has(session: unknown, method: string): boolean {
  return typeof (session as Record<string, unknown> | null)?.[method] === "function";
}

function rowsOf<T>(answer: unknown): T[] {
  if (Array.isArray(answer)) return answer;
  const rows = (answer as { rows?: unknown } | null)?.rows;
  return Array.isArray(rows) ? rows : [];
}

/** Knex takes a `?` for each value, in the order of the text. */
function positional(text: string, values: readonly unknown[]): [string, unknown[]] {
  const bindings: unknown[] = [];
  const replaced = text.replace(/\$(\d+)/g, (_, number) => {
    bindings.push(values[Number(number) - 1]);
    return "?";
  });
  return [replaced, bindings];
}

/** The `sql` of drizzle-orm, by shape. */
type DrizzleSql<Sql> = {
  (strings: TemplateStringsArray, ...values: never[]): Sql;
  raw(text: string): Sql;
  join(parts: Sql[]): Sql;
};

/** A Drizzle transaction as a session; `sql` is the one that drizzle-orm exports. */
export function drizzleSession<Sql>(
  tx: { execute(query: Sql): PromiseLike<unknown> },
  sql: DrizzleSql<Sql>,
): QuerySession {
  return {
    query: async (text, values) => {
      const parts = text.split(/\$(\d+)/).map((part, at) => {
        return at % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1] as never}`;
      });
      return tx.execute(sql.join(parts));
    },
  };
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/;

/** `name` or `schema.name`, quoted. Throws TypeError: a table name is never a parameter of a statement. */
export function quotedTable(field: string, name: string): string {
  const parts = name.split(".");
  if (parts.length > 2 || !parts.every((part) => IDENTIFIER.test(part))) {
    throw new TypeError(`${field} is ${JSON.stringify(name)}: give a table name such as outbox or app.outbox`);
  }
  return parts.map((part) => `"${part}"`).join(".");
}

/**
 * SQL that runs the statement unless the query `there` finds a row. `if not exists` of an index or a column takes its lock before it
 * looks, and so waits for every transaction that writes to the table.
 */
export function unlessThere(there: string, statement: string): string {
  return `do $$ begin if not exists (${there}) then ${statement}; end if; end $$;\n`;
}

/** SQL that makes the index `<table>_<of>` unless it exists. `table`: quoted, see `quotedTable`. */
export function indexSql(table: string, of: string, definition: string): string {
  const index = `${table.slice(0, -1)}_${of}"`;
  return unlessThere(
    `select where to_regclass('${index}') is not null`,
    `create index if not exists ${index.slice(index.indexOf(".") + 1)} on ${table} ${definition}`,
  );
}

/** Throws TypeError unless `value` is a whole number from `min` to `max`. */
export function assertWhole(field: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw new TypeError(`${field} is ${value}: it must be a whole number from ${min} to ${max}`);
}
