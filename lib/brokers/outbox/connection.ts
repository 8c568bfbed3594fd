import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import type pg from "pg";
import { abortable } from "@/lib/brokers/abortable";
import { CodedError } from "@/lib/brokers/coded-error";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import { type AddressFilter, checkedSocket, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { isConnectionLoss, PostgresPool, sqlState } from "@/lib/platform/postgres-pool";

/** A statement that takes longer waits for a lock, or for a table that was not made for it. */
const STATEMENT_TIMEOUT_MS = 15_000;

export class OutboxFailure extends CodedError {
  override readonly name = "OutboxFailure";
}

/** `host:port/database`, without credentials. */
export function addressOf({ url }: OutboxConfig): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || 5432}${pathname}`;
}

const ENCRYPTED = new Set(["require", "verify-ca", "verify-full"]);

/** The address without its sslmode, and the TLS options. An encrypted connection always checks the certificate and its name. */
function transportOf({ url, tls }: OutboxConfig): { url: string; tls: ConnectionOptions | undefined } {
  const address = new URL(url);
  const mode = address.searchParams.get("sslmode");
  for (const name of [...address.searchParams.keys()])
    if (/^(ssl|sslmode|sslrootcert|sslcert|sslkey|uselibpqcompat)$/.test(name)) address.searchParams.delete(name);
  if (mode !== null && mode !== "disable" && !ENCRYPTED.has(mode))
    throw new OutboxFailure(
      "OUTBOX_SSLMODE",
      "sslmode of the URL must be disable, require or verify-full: Parkade does not fall back to an open connection",
    );
  if (tls === undefined && (mode === null || mode === "disable")) return { url: address.href, tls: undefined };
  const { servername = address.hostname.replace(/^\[|\]$/g, ""), ...given } = tls ?? {};
  return {
    url: address.href,
    tls: { ...given, checkServerIdentity: (_, certificate) => checkServerIdentity(servername, certificate) },
  };
}

export function openPool(
  config: OutboxConfig,
  { name, max, addresses = DEFAULT_ADDRESSES }: { name: string; max: number; addresses: AddressFilter | undefined },
): PostgresPool {
  const { url, tls } = transportOf(config);
  return new PostgresPool(url, {
    max,
    applicationName: name,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    stream: () => checkedSocket(addresses),
    ...(tls === undefined ? {} : { tls }),
  });
}

/** The code of an error of pg: a SQLSTATE, a code of the socket, or ECONNRESET for a connection that ended. */
export function codeOf(error: unknown): string {
  if (error instanceof OutboxFailure) return error.code;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && code !== "") return code;
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  if (first !== undefined) return codeOf(first);
  return /timeout/i.test(error instanceof Error ? error.message : "") ? "ETIMEDOUT" : "ECONNRESET";
}

/** What a person can do about an error of this connection. The server's texts may repeat values, never the password. */
export function describeOutbox(error: unknown, config: OutboxConfig): string {
  if (error instanceof OutboxFailure) return error.message;
  const where = addressOf(config);
  const code = codeOf(error);
  const text = error instanceof Error ? error.message : String(error);
  switch (sqlState(error)) {
    case "28P01":
    case "28000":
      return `${where} refuses access: check the user and the password (${text})`;
    case "3D000":
      return `${where}: ${text}`;
    case "42501":
      return `${where} refuses a statement: ${text}`;
    case "57014":
      return `${where} did not finish a statement in ${STATEMENT_TIMEOUT_MS / 1000} s: another session locks table ${config.table}, or the table lacks an index`;
    case null:
      return `cannot reach ${where}: ${text.includes(code) ? text : `${text} (${code})`}`;
    default:
      return `${where} answered: ${text} (${code})`;
  }
}

/** Whether the server said no, and so has changed nothing. */
export function isRefusal(error: unknown): boolean {
  return error instanceof OutboxFailure || (sqlState(error) !== null && !isConnectionLoss(error));
}

/** A connection of the pool, given up when `signal` fires first. */
export function connected(pool: PostgresPool, signal: AbortSignal): Promise<pg.PoolClient> {
  const connecting = pool.connect();
  return abortable(connecting, signal).catch((error) => {
    connecting.then((client) => client.release(true)).catch(() => undefined);
    throw error;
  });
}
