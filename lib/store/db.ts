import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { hash64 } from "@/lib/core/hash";
import { DomainError } from "@/lib/core/problem";

/**
 * Postgres through `pg`. What crosses this edge:
 * - `timestamptz` becomes epoch milliseconds (a number), and goes in as `to_timestamp($n::float8 / 1000)`: `Date` does
 *   not leave this folder;
 * - `int8` becomes a number when it is safe, else its decimal text;
 * - `bytea` is a Buffer, `jsonb` is parsed, `numeric` stays text (cast to bigint or float8 in SQL).
 */

type Values = readonly unknown[];

export type QueryOptions = {
  /** Makes it a named prepared statement: planned once a connection. On partitions planning is the cost. */
  name?: string;
  /** Times come as ISO 8601 UTC text instead, for rows that go to the wire as they are. */
  isoTimes?: boolean;
};

export interface Queryable {
  /** The rows. Rejects with DomainError `store-unavailable` or `read-timeout`, else with the server's error. */
  query<T = Record<string, unknown>>(text: string, values?: Values, options?: QueryOptions): Promise<T[]>;
  /** How many rows the statement changed. */
  run(text: string, values?: Values, options?: QueryOptions): Promise<number>;
}

declare const insideTransaction: unique symbol;

/** A transaction. Only `Db.transaction` makes one, so what asks for a Tx cannot run outside. */
export interface Tx extends Queryable {
  readonly [insideTransaction]: true;
  /** `copy ... from stdin` with ready-made data. */
  copyIn(text: string, data: Iterable<Buffer>): Promise<void>;
}

export type TransactionOptions = { statementTimeoutMs?: number; readOnly?: boolean };

export interface Db extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. Nothing is retried: the caller knows what is safe. */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Resolves when every connection is closed. */
  end(): Promise<void>;
}

export type DbOptions = {
  max?: number;
  /** Every statement's bound unless its transaction sets another. 0 = none. */
  statementTimeoutMs?: number;
  /** How long a caller waits for a free connection, milliseconds. */
  connectTimeoutMs?: number;
  applicationName?: string;
  /**
   * Named statements are planned once a connection, whatever their values. Left to itself PostgreSQL plans a statement
   * over many partitions anew each time, which costs more than running it. Only for statements whose way does not depend
   * on their values.
   */
  genericPlans?: boolean;
  /** Told of an idle connection that broke: the pool replaces it by itself. */
  onIdleError?: (error: Error) => void;
};

const CONNECT_TIMEOUT_MS = 5_000;

const TIMESTAMPTZ = 1184;
const INT8 = 20;

/**
 * Server text such as `2026-11-20 09:33:12.123456+00` to epoch milliseconds. A list has hundreds of them: the usual form,
 * in UTC, is read by its places.
 */
export function timestamptzToMs(text: string): number {
  const ms = text.length >= 22 && text.endsWith("+00") && text[10] === " " ? utcToMs(text) : Number.NaN;
  return Number.isNaN(ms) ? anyToMs(text) : ms;
}

/** The same as ISO 8601 with milliseconds, which is the usual form but for two letters. */
export function timestamptzToIso(text: string): string {
  if (!text.endsWith("+00") || text[10] !== " " || (text[19] !== "." && text.length !== 22)) {
    return new Date(timestamptzToMs(text)).toISOString();
  }
  const fraction = text.length === 22 ? "000" : text.slice(20, Math.min(23, text.length - 3)).padEnd(3, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

function utcToMs(text: string): number {
  const at = (from: number) => (text.charCodeAt(from) - 48) * 10 + text.charCodeAt(from + 1) - 48;
  const seconds = Date.UTC(at(0) * 100 + at(2), at(5) - 1, at(8), at(11), at(14), at(17));
  if (text[19] !== ".") return text.length === 22 ? seconds : Number.NaN;
  return seconds + Math.floor(Number(text.slice(19, -3)) * 1_000 + 1e-6);
}

function anyToMs(text: string): number {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  const ms = Date.parse(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"));
  if (Number.isNaN(ms)) throw new RangeError(`not a timestamptz this store writes: ${text}`);
  return ms;
}

function int8ToNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

function typesWith(timestamptz: (text: string) => unknown): pg.CustomTypesConfig {
  return {
    getTypeParser: (oid: number, format?: "text" | "binary") => {
      if (oid === TIMESTAMPTZ && format !== "binary") return timestamptz;
      if (oid === INT8 && format !== "binary") return int8ToNumber;
      return pg.types.getTypeParser(oid, format);
    },
  };
}

const types = typesWith(timestamptzToMs);
const isoTypes = typesWith(timestamptzToIso);

export function createDb(url: string, options: DbOptions = {}): Db {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 10,
    statement_timeout: options.statementTimeoutMs || undefined,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    application_name: options.applicationName ?? "parkade",
    types,
    // Done before the connection is handed out.
    ...(options.genericPlans ? { onConnect: keepPlans } : {}),
  });
  // Without a listener a server restart would end the process; the pool opens a new connection when one is needed.
  pool.on("error", (error) => options.onIdleError?.(error));
  const direct = queryable((config) => pool.query(config).catch(rethrow));
  return {
    ...direct,
    transaction: (work, settings) => transaction(pool, work, settings),
    end: () => pool.end(),
  };
}

async function keepPlans(client: pg.ClientBase): Promise<void> {
  await client.query("set plan_cache_mode = force_generic_plan");
}

async function transaction<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>, settings: TransactionOptions = {}) {
  const client = await connect(pool);
  return release(client, async () => {
    await client.query(opening(settings));
    let result: T;
    try {
      result = await work(asTx(client));
    } catch (error) {
      // The first error is the one that tells; a rollback that fails means the connection is gone, and so is the
      // transaction.
      await client.query("rollback").catch(() => undefined);
      throw error;
    }
    await client.query("commit");
    return result;
  });
}

/** One round trip: the texts are ours and the timeout is a number. */
function opening({ statementTimeoutMs, readOnly }: TransactionOptions): string {
  const begin = readOnly ? "begin read only" : "begin";
  return statementTimeoutMs === undefined ? begin : `${begin}; set local statement_timeout = ${statementTimeoutMs | 0}`;
}

function asTx(client: pg.PoolClient): Tx {
  return {
    ...queryable((config) => client.query(config).catch(rethrow)),
    copyIn: async (text, data) => {
      const sink = client.query(copyFrom(text));
      await pipeline(Readable.from(data, { objectMode: false }), sink).catch(rethrow);
    },
  } as Tx;
}

function queryable(execute: (config: pg.QueryConfig) => Promise<pg.QueryResult>): Queryable {
  const send = (text: string, values: Values, options?: QueryOptions) =>
    execute({
      text,
      values: values as unknown[],
      name: options?.name,
      ...(options?.isoTimes ? { types: isoTypes } : {}),
    });
  return {
    query: async <T>(text: string, values: Values = [], options?: QueryOptions) =>
      (await send(text, values, options)).rows as T[],
    run: async (text, values = [], options) => (await send(text, values, options)).rowCount ?? 0,
  };
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw unavailable(error);
  }
}

/** A client that met a connection error goes, all others return to the pool. */
async function release<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    return await work();
  } catch (error) {
    const known = translate(error);
    if (known instanceof DomainError && known.code === "store-unavailable") broken = known;
    throw known;
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** SQLSTATE of a server error, else null. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}

/**
 * True when the store refused the values of a row (SQLSTATE classes 22, 23 and 54), or our encoder did: the same
 * transaction without that row may succeed, and with it never will.
 */
export function isRowFault(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true;
  return ["22", "23", "54"].includes(sqlState(error)?.slice(0, 2) ?? "");
}

const QUERY_CANCELED = "57014";

/** SQLSTATEs that say the server is going, gone or not there yet; class 08 is every connection exception. */
function isConnectionState(state: string): boolean {
  return state.startsWith("08") || ["57P01", "57P02", "57P03", "53300"].includes(state);
}

function rethrow(error: unknown): never {
  throw translate(error);
}

function translate(error: unknown): unknown {
  if (error instanceof DomainError || error instanceof TypeError || error instanceof RangeError) return error;
  const state = sqlState(error);
  // `pg` reports a broken socket as a plain Error or a system error: whatever carries no SQLSTATE came from the wire.
  if (state === null || isConnectionState(state)) return unavailable(error);
  if (state === QUERY_CANCELED) {
    return new DomainError("read-timeout", "The store took too long: narrow the filter or add a time window", {
      internal: error,
    });
  }
  return error;
}

function unavailable(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  return new DomainError("store-unavailable", "The store cannot be reached: check PostgreSQL and DATABASE_URL", {
    internal: error,
  });
}

/** Names that were made: the texts are a few hundred, and each is a thousand characters to hash. */
const names = new Map<string, string>();
const NAMES_MAX = 1_000;

/** A statement name for SQL that is put together from parts: the same text has the same name on every connection. */
export function statementName(prefix: string, text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  if (names.size === NAMES_MAX) names.clear();
  const name = `${prefix}_${hash64(text)}`;
  names.set(text, name);
  return name;
}
