import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";

export type PoolOptions = {
  max: number;
  applicationName: string;
  /** The bound of each statement, enforced by the server. 0 = no bound but STATEMENT_MS_LONGEST. */
  statementTimeoutMs: number;
  /** The server ends a transaction that asks nothing for this long, so that its locks do not outlive its process. */
  idleInTransactionMs?: number;
  /** How long a caller waits for a free connection, milliseconds. */
  connectTimeoutMs?: number;
  /** A connection is closed after its use when it is older. */
  lifetimeMs?: number;
  /** Gets the error of an idle connection that broke: the pool replaces the connection by itself. */
  onIdleError?: (error: Error) => void;
  /** Runs on each new connection before it is handed out. */
  onConnect?: (client: pg.ClientBase) => Promise<void>;
  types?: pg.CustomTypesConfig;
  /** Command-line options of the session, such as `-c search_path=...`. */
  sessionOptions?: string;
  /** The connections are encrypted with these settings, whatever the connection string says. */
  tls?: ConnectionOptions;
  /** Makes the socket of each connection. */
  stream?: () => Socket;
};

const CONNECT_TIMEOUT_MS = 5_000;
/** The server ends a late statement and says so. This much later its answer is lost, and with it the connection. */
const SILENCE_MS = 1_000;
/** Without a bound a connection that a firewall has dropped would hold its caller until the kernel gives up, 15 min. */
const STATEMENT_MS_LONGEST = 600_000;
/** A process that vanished or was suspended inside a transaction holds its row locks no longer than this. */
const IDLE_IN_TRANSACTION_MS_MAX = 10_000;
/** How long the store may take to say whether it still works on a statement whose answer did not come. */
const ASK_MS = 1_000;
/** Keeps the entry of a firewall between process and store alive while nothing is asked. */
const KEEP_ALIVE_AFTER_MS = 10_000;

/** How long a caller waits for the answer to a statement with this bound, milliseconds. */
export function answerMsMax(statementTimeoutMs: number): number {
  return (statementTimeoutMs || STATEMENT_MS_LONGEST) + SILENCE_MS;
}

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (broken?: Error | boolean) => void,
) => void;

/**
 * Generations of the connections to each server, by host and port. A connection that breaks or falls silent rarely does
 * so alone: after a failover or a cut network all idle ones hang, in every pool of this process.
 */
const generations = new Map<string, number>();

/**
 * The one kind of PostgreSQL pool: every statement has a bound on the server and one on this side, connections are kept
 * alive, and a connection that breaks or falls silent ends its generation: connections that are as old are closed before
 * their next use, where each would cost its user a whole timeout (ADR 0030).
 */
export class PostgresPool extends pg.Pool {
  readonly #server: string;
  readonly #bornIn = new WeakMap<pg.PoolClient, number>();
  #answering: Promise<boolean> | null = null;
  /** The last question about late statements, and the backends of the one that waits for its end. */
  #lateAsked: Promise<unknown> = Promise.resolve();
  #lateNext: { pids: number[]; active: Promise<Set<number>> } | null = null;

  constructor(connectionString: string, options: PoolOptions) {
    super({
      connectionString,
      max: options.max,
      application_name: options.applicationName,
      statement_timeout: options.statementTimeoutMs || undefined,
      // Shorter: a statement that only waits for another transaction ends as that, not as one that reads too much.
      lock_timeout: options.statementTimeoutMs ? Math.ceil(options.statementTimeoutMs * 0.8) : undefined,
      query_timeout: answerMsMax(options.statementTimeoutMs),
      idle_in_transaction_session_timeout: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS_MAX,
      connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      ...(options.lifetimeMs ? { maxLifetimeSeconds: options.lifetimeMs / 1_000 } : {}),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      ...(options.types ? { types: options.types } : {}),
      ...(options.sessionOptions ? { options: options.sessionOptions } : {}),
      ...(options.tls ? { ssl: options.tls } : {}),
      ...(options.stream ? { stream: options.stream } : {}),
      ...(options.onConnect ? { onConnect: options.onConnect } : {}),
    });
    this.#server = URL.canParse(connectionString) ? new URL(connectionString).host : connectionString;
    // Without a listener a restart of the server would end the process.
    this.on("error", (error) => options.onIdleError?.(error));
    this.on("connect", (client) => {
      this.#bornIn.set(client, this.#generation());
      // The statement under way fails with the same error. Its user may have no listener, and then it would end the process.
      client.on("error", () => undefined);
    });
    this.on("release", (error, client) => {
      if (error instanceof Error && isConnectionLoss(error)) this.endGeneration(this.#bornIn.get(client));
    });
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const connected = this.#connectYoung();
    if (callback === undefined) return connected;
    connected.then(
      (client) => callback(undefined, client, client.release),
      (error) => callback(error, undefined, () => undefined),
    );
  }

  async #connectYoung(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await super.connect();
      if (this.#bornIn.get(client)! >= this.#generation()) return client;
      client.release(true);
    }
  }

  #generation(): number {
    return generations.get(this.#server) ?? 0;
  }

  /**
   * Of a connection whose answer did not come in time: the store is slow, and not away. The answer has come by now, which
   * this process was too busy to see, or the server still works on the statement; nobody waits for it, so it is cancelled.
   */
  async isLate(client: pg.PoolClient): Promise<boolean> {
    const { connection, processID } = client as unknown as { connection: { stream: Socket }; processID: number };
    const before = connection.stream.bytesRead;
    // Timers run before what has arrived is read.
    await setImmediate();
    await setImmediate();
    if (connection.stream.bytesRead > before) return true;
    return (await this.#cancelActive(processID)).has(processID);
  }

  /** One question at a time, about all backends that came while the one before was asked: those that were cancelled. */
  #cancelActive(pid: number): Promise<Set<number>> {
    if (this.#lateNext === null) {
      const pids: number[] = [];
      const active = this.#lateAsked.then(async () => {
        this.#lateNext = null;
        const rows = await this.#ask<{ pid: number }>(
          "select pid, pg_cancel_backend(pid) from pg_stat_activity where pid = any($1) and state = 'active'",
          [pids],
        );
        return new Set(rows.map((row) => row.pid));
      });
      this.#lateNext = { pids, active };
      this.#lateAsked = active;
    }
    this.#lateNext.pids.push(pid);
    return this.#lateNext.active;
  }

  /** Whether the server takes a new connection and answers on it. Callers that come meanwhile share the answer. */
  answers(): Promise<boolean> {
    this.#answering ??= this.#ask("select 1", [])
      .then((rows) => rows.length === 1)
      .finally(() => {
        this.#answering = null;
      });
    return this.#answering;
  }

  /** The rows of the statement, on a connection of its own; none when the server does not answer. */
  async #ask<T extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<T[]> {
    const fresh = new pg.Client({
      ...this.options,
      connectionTimeoutMillis: ASK_MS,
      query_timeout: ASK_MS,
      statement_timeout: ASK_MS,
    });
    fresh.on("error", () => undefined);
    try {
      await fresh.connect();
      return (await fresh.query<T>(text, values)).rows;
    } catch {
      return [];
    } finally {
      fresh.end().catch(() => undefined);
    }
  }

  /** Closes every connection that is open now before its next use, in all pools to this server. */
  endGeneration(last = this.#generation()): void {
    generations.set(this.#server, Math.max(this.#generation(), last + 1));
  }
}

/** The answer to a statement did not come in time on this side. `pg` gives this error no code. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === "Query read timeout";
}

/** Every connection of the pool was in use for as long as a caller waits, or the server did not take a new one. */
export function isNoneFree(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}

/**
 * SQLSTATE of a server error, else null. Recognised by its fields: the web process loads `pg` twice, in the bundle of its
 * routes and for Next's pages, and both use one store.
 */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || error.name !== "error" || !("code" in error)) return null;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** SQLSTATEs that say the server is going, gone or not there yet; class 08 is every connection exception. */
function isConnectionState(state: string): boolean {
  return state.startsWith("08") || ["57P01", "57P02", "57P03", "57P05", "25P03"].includes(state);
}

/**
 * Of an error that came from `pg`: whether the connection is of no more use. `pg` reports a broken or silent socket as an
 * Error without SQLSTATE, and a value that it cannot send as a TypeError or RangeError.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const state = sqlState(error);
  return state === null || isConnectionState(state);
}
