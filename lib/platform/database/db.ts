import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { type CopyStreamQuery, type CopyToStreamQuery, from as copyFrom, to as copyTo } from "pg-copy-streams";
import type { Clock } from "@/lib/platform/clock";
import { CopyQuery, type RowCopy } from "@/lib/platform/database/copy-binary";
import { isoTypes, types } from "@/lib/platform/database/types";
import { hash64 } from "@/lib/platform/plain/hash.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  answerMsMax,
  isConnectionLoss,
  isNoneFree,
  isSilence,
  type PoolOptions,
  PostgresPool,
  sqlState,
} from "@/lib/platform/postgres-pool";

/**
 * Postgres through `pg`. What crosses this edge:
 * - `timestamptz` becomes epoch milliseconds (a number), and goes in as `to_timestamp($n::float8 / 1000)`: `Date` does
 *   not leave this folder;
 * - `int8` becomes a number when it is safe, else its decimal text;
 * - `bytea` is a Buffer, `jsonb` is parsed, `numeric` stays text (cast to bigint or float8 in SQL).
 */

type Values = readonly unknown[];

type QueryOptions = {
  /**
   * Makes it a named prepared statement: planned once for each connection. With partitions, planning costs the most. Two texts may
   * share a name, since the store is told the name and a hash of the text.
   */
  name?: string;
  /** Times come as ISO 8601 UTC text instead, for rows that are sent to the client unchanged. */
  isoTimes?: boolean;
};

export interface Queryable {
  /** The rows. Rejects with DomainError `store-unavailable` or `read-timeout`, else with the server's error. */
  query<T = Record<string, unknown>>(text: string, values?: Values, options?: QueryOptions): Promise<T[]>;
  /** How many rows the statement changed. */
  run(text: string, values?: Values, options?: QueryOptions): Promise<number>;
}

const insideTransaction: unique symbol = Symbol("inside a transaction");

/**
 * A transaction. Only `Db.transaction` creates it, so a function that takes a Tx cannot run outside of a transaction.
 */
export interface Tx extends Queryable {
  readonly [insideTransaction]: true;
  /** `copy ... from stdin` with ready-made data. An error of the data ends the statement, and is what this rejects with. */
  copyIn(text: string, data: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void>;
  /** Copies rows into tables, in one round trip. */
  copyRows(copies: readonly RowCopy[]): Promise<void>;
  /** `copy ... to stdout`: its data in pieces of any length. The server waits for a slow reader. */
  copyOut(text: string): AsyncIterable<Buffer>;
}

export type TransactionOptions = {
  statementTimeoutMs?: number;
  readOnly?: boolean;
  /** All statements see the store as the first one does. */
  snapshot?: boolean;
};

export interface Db extends Queryable {
  /**
   * Commits when `work` resolves, rolls back when it rejects. It never retries: only the caller knows whether that is
   * safe.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Waits a short random time before a transaction that collided runs again, so that the same two do not collide again.
   */
  pause(tries: number): Promise<void>;
  /** Resolves when every connection is closed. */
  end(): Promise<void>;
}

export type DbOptions = Partial<Omit<PoolOptions, "onConnect" | "types" | "sessionOptions">> & {
  /**
   * Named statements are planned once for each connection, whatever their values. By default PostgreSQL plans a
   * statement over many partitions anew each time, which costs more than running it. Only for statements whose plan
   * does not depend on their values. "pages": those that read a page of a list by index; "keys": those that name
   * their rows by key.
   */
  genericPlans?: "pages" | "keys";
  /** Where the random pauses come from; without it a repeat waits for nothing. */
  chance?: { clock: Pick<Clock, "sleep">; random: () => number };
};

/** Half of the longest pause before the first repeat; each further one may be twice as long: at most 0.64 s in all. */
const PAUSE_MS = 10;

export function createDb(url: string, { genericPlans, chance, ...options }: DbOptions = {}): Db {
  const pool = new PostgresPool(url, {
    max: 10,
    statementTimeoutMs: 0,
    applicationName: "parkade",
    types,
    onConnect: async (client) => {
      if (genericPlans) await keepPlans(client, genericPlans);
    },
    ...options,
  });
  const direct = queryable((config) => withConnection(pool, (connection) => execute(connection, config)));
  return {
    ...direct,
    transaction: (work, settings) => withConnection(pool, (connection) => transact(connection, work, settings ?? {})),
    pause: async (tries) => chance?.clock.sleep(chance.random() * PAUSE_MS * 2 ** tries),
    end: () => pool.end(),
  };
}

/** Where tables are sharded by Citus a plan needs the values of its statement: the shards follow from them. */
const FORCE_GENERIC_PLANS = `select set_config('plan_cache_mode', 'force_generic_plan', false)
  where not exists (select from pg_extension where extname = 'citus')`;

async function keepPlans(client: pg.ClientBase, kind: "pages" | "keys"): Promise<void> {
  await client.query(FORCE_GENERIC_PLANS);
  // Every row is found by a key. A plan is kept, and the planner takes a table that is empty when it is made for one to read whole.
  if (kind === "keys") return void (await client.query("set enable_seqscan = off"));
  // A page is some fifty rows found by index. Other joins read a table whole and workers take longer to start than it takes
  // to read, but the planner takes a limit by parameter for a tenth of the table.
  await client.query(`set enable_hashjoin = off; set enable_mergejoin = off;
    set max_parallel_workers_per_gather = 0`);
}

/** `broken`: the error that makes the connection unusable. `changes`: the running transaction writes. */
type Connection = { pool: PostgresPool; client: pg.PoolClient; broken: Error | null; changes: boolean };

/** Gives the connection back after `work`, or has the pool close it when it is broken. */
async function withConnection<T>(pool: PostgresPool, work: (connection: Connection) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(async (error: unknown) => {
    const busy = isNoneFree(error) && (await pool.answers());
    throw busy ? tooSlow("Every connection to the store is in use: try again in a moment", error) : unavailable(error);
  });
  const connection: Connection = { pool, client, broken: null, changes: false };
  const onError = (error: Error) => {
    connection.broken = error;
  };
  client.on("error", onError);
  try {
    return await work(connection);
  } finally {
    client.off("error", onError);
    client.release(connection.broken ?? undefined);
  }
}

/** Runs one statement. Its error is translated here, where it certainly comes from the server or the connection. */
async function execute(connection: Connection, config: pg.QueryConfig | string): Promise<pg.QueryResult> {
  try {
    return await connection.client.query(config);
  } catch (error) {
    throw await judge(
      connection,
      error,
      connection.changes || CHANGES.test(typeof config === "string" ? config : config.text),
    );
  }
}

/** A statement outside a transaction that changes rows. */
const CHANGES = /\b(insert into|update|delete from)\b/;

/** The error for the caller. Marks the connection as broken when it cannot be used again. */
async function judge(connection: Connection, error: unknown, changes = connection.changes): Promise<unknown> {
  if (isConnectionLoss(error)) connection.broken = error instanceof Error ? error : new Error(String(error));
  return isSilence(error) && (await connection.pool.isLate(connection.client))
    ? tooSlow(changes ? SLOW_CHANGE : SLOW_READ, error)
    : translate(error, { changes });
}

async function transact<T>(
  connection: Connection,
  work: (tx: Tx) => Promise<T>,
  settings: TransactionOptions,
): Promise<T> {
  connection.changes = !settings.readOnly;
  await execute(connection, opening(settings));
  let result: T;
  try {
    result = await work(asTx(connection, settings));
  } catch (error) {
    // The first error is passed on, whether the store or the caller threw it: a bug of the caller stays a bug. A
    // rollback that fails means that the connection is lost, and so is the transaction.
    if (connection.broken === null) await execute(connection, "rollback").catch(() => undefined);
    throw error;
  }
  await execute(connection, "commit");
  return result;
}

/** One round trip. The text holds no outside input: the timeout is a number. */
function opening({ statementTimeoutMs, readOnly, snapshot }: TransactionOptions): string {
  const begin = `begin${snapshot ? " isolation level repeatable read" : ""}${readOnly ? " read only" : ""}`;
  return statementTimeoutMs === undefined ? begin : `${begin}; set local statement_timeout = ${statementTimeoutMs | 0}`;
}

function asTx(connection: Connection, { statementTimeoutMs }: TransactionOptions): Tx {
  // pg reads `query_timeout` of a single statement too; its types do not know.
  const patience = statementTimeoutMs === undefined ? {} : { query_timeout: answerMsMax(statementTimeoutMs) };
  return {
    ...queryable((config) => execute(connection, { ...config, ...patience })),
    copyIn: (text, data) => copyIn(connection, Object.assign(copyFrom(text), patience), data),
    copyRows: (copies) => copyRows(connection, copies, patience),
    copyOut: (text) => copyOut(connection, Object.assign(copyTo(text), patience)),
    [insideTransaction]: true,
  };
}

/** After a failure the chunks are not reused: the broken connection may still hold them. */
async function copyRows(
  connection: Connection,
  copies: readonly RowCopy[],
  patience: { query_timeout?: number },
): Promise<void> {
  try {
    await connection.client.query(new CopyQuery(copies, patience)).done;
  } catch (error) {
    throw await judge(connection, error);
  }
  for (const { rows } of copies) rows.release();
}

type CopyData = Iterable<Buffer> | AsyncIterable<Buffer>;

async function copyIn(connection: Connection, sink: CopyStreamQuery, data: CopyData): Promise<void> {
  let fault: { error: unknown } | null = null;
  const rows = async function* () {
    try {
      yield* data;
    } catch (error) {
      fault = { error };
      throw error;
    }
  };
  try {
    await pipeline(Readable.from(rows(), { objectMode: false }), connection.client.query(sink));
  } catch (error) {
    // An error of the caller's own rows does not make the connection unusable.
    throw fault === null ? await judge(connection, error) : (fault as { error: unknown }).error;
  }
}

async function* copyOut(connection: Connection, source: CopyToStreamQuery): AsyncGenerator<Buffer> {
  let ended = false;
  try {
    for await (const piece of connection.client.query(source)) yield piece;
    ended = true;
  } catch (error) {
    ended = true;
    throw await judge(connection, error);
  } finally {
    // `pg` waits for this call before it forgets the time limit of the statement; the stream never makes it.
    (source as { callback?: () => void }).callback?.();
    // Its reader stopped early: what the server still sends would be taken for the answer to the next statement.
    if (!ended) connection.broken ??= new Error("the reader of a copy stopped before its end");
  }
}

function queryable(run: (config: pg.QueryConfig) => Promise<pg.QueryResult>): Queryable {
  const send = (text: string, values: Values, options?: QueryOptions) =>
    run({
      text,
      values: values as unknown[],
      name: options?.name === undefined ? undefined : statementName(options.name, text),
      ...(options?.isoTimes ? { types: isoTypes } : {}),
    });
  return {
    query: async <T>(text: string, values: Values = [], options?: QueryOptions) =>
      (await send(text, values, options)).rows as T[],
    run: async (text, values = [], options) => (await send(text, values, options)).rowCount ?? 0,
  };
}

/**
 * True when the store refused the values of a row (SQLSTATE classes 22, 23 and 54), or our encoder did: the transaction
 * can succeed only without that row.
 */
export function isRowFault(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return ["22", "23", "54"].includes(sqlState(error)?.slice(0, 2) ?? "");
}

/** SQLSTATEs of a transaction that the server ended because of another one: deadlock, serialization, lock timeout. */
const COLLISIONS: readonly (string | null)[] = ["40P01", "40001", "55P03"];

const QUERY_CANCELED = "57014";

/**
 * The reason why a server that answers cannot write now: the same request may succeed later. Class 53: not enough
 * resources.
 */
function cannotWrite(state: string): string | null {
  if (state === "53100") return "The store's disk is full: free some space on the machine of PostgreSQL";
  if (state === "58030") return "The store cannot read or write its disk: check the log of PostgreSQL";
  if (state === "25006") return "The store is read-only: point DATABASE_URL at the primary server";
  if (state === "53300") return "The store has no connection left: raise max_connections of PostgreSQL";
  return state.startsWith("53") ? "The store lacks memory or another resource: check the log of PostgreSQL" : null;
}

/** For an error of a statement, never for an error of the caller's own code. `changes`: the statement changes rows. */
export function translate(error: unknown, { changes }: { changes: boolean }): unknown {
  if (isConnectionLoss(error)) return unavailable(error);
  const state = sqlState(error);
  if (COLLISIONS.includes(state)) {
    return new DomainError("events-busy", "Other actions are changing the same events: try again", {
      internal: error,
    });
  }
  if (state === QUERY_CANCELED) {
    return tooSlow(changes ? SLOW_CHANGE : SLOW_READ, error);
  }
  const why = state === null ? null : cannotWrite(state);
  return why === null ? error : new DomainError("store-unavailable", why, { internal: error });
}

const SLOW_READ = "The store took too long: narrow the filter or add a time window";
const SLOW_CHANGE =
  "The store took too long to make this change, which may be waiting for other changes to the same events: try again";

function tooSlow(message: string, internal: unknown): DomainError {
  return new DomainError("read-timeout", message, { internal });
}

function unavailable(error: unknown): DomainError {
  const why = cannotWrite(sqlState(error) ?? "");
  if (why !== null) return new DomainError("store-unavailable", why, { internal: error });
  return new DomainError("store-unavailable", "The store cannot be reached: check PostgreSQL and DATABASE_URL", {
    internal: error,
  });
}

/** Cache of names: there are a few hundred texts, and each has a thousand characters to hash. */
const names = new Map<string, string>();
const NAMES_MAX = 1_000;

/** The same text has the same name on every connection, and no other text has it: pg refuses a second one. */
export function statementName(prefix: string, text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size === NAMES_MAX) names.clear();
  const name = `${prefix}_${hash64(text)}`;
  names.set(text, name);
  return name;
}
