import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { AbstractConnector, Redis, type RedisOptions } from "ioredis";
import { abortable, abortableWithin } from "@/lib/brokers/abortable";
import { CodedError } from "@/lib/brokers/coded-error";
import type { TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import type { AdapterDeps, ProbeResult } from "@/lib/brokers/port";
import { probed, type Seen } from "@/lib/brokers/probe-sample";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

const CONNECT_TIMEOUT_MS = 5_000;
/** A server that owes an answer and sends nothing for so long is gone. No command that is used here waits on the server. */
const SILENCE_TIMEOUT_MS = 15_000;
/** How long a socket may take to end before it is closed. */
const CLOSE_TIMEOUT_MS = 2_000;

export type RedisAddress = { url: string; tls?: TlsSettings | undefined };

/** `host:port`, without credentials. */
export function addressOf({ url }: RedisAddress): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || 6379}`;
}

export class RedisFailure extends CodedError {
  override readonly name = "RedisFailure";
}

/** `REDIS_` and the first word of the server's reply, the socket's code, or ECONNRESET for a connection that ended under a command. */
export function redisCode(error: unknown): string {
  if (error instanceof RedisFailure) return error.code;
  const { name, message = "", code } = error as { name?: string; message?: string; code?: unknown };
  if (name === "ReplyError") return `REDIS_${/^[A-Z]+/.exec(message)?.[0] ?? "ERR"}`;
  return typeof code === "string" ? code : "ECONNRESET";
}

/** Whether the server has said no before it did anything. */
export function isReply(error: unknown): boolean {
  return (error as { name?: string }).name === "ReplyError";
}

/** What a person can do about an error of this connection. */
export function describeRedis(error: unknown, address: RedisAddress): string {
  const where = addressOf(address);
  const code = redisCode(error);
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof RedisFailure) return text;
  if (code === "REDIS_WRONGPASS" || code === "REDIS_NOAUTH")
    return `${where} refuses access: check the user and the password`;
  if (code === "REDIS_NOPERM") return `${where} refuses a command: ${text.replace(/^NOPERM\s*/, "")}`;
  if (code === "REDIS_WRONGTYPE") return `the key is not a stream on ${where}`;
  if (code === "REDIS_NOGROUP") return `the stream or its consumer group does not exist on ${where}`;
  return isReply(error) ? `${where} answered: ${text}` : `lost ${where} (${code})`;
}

/** What a URL says. Its query is left out: ioredis would take options from it, a file or another host among them. */
function serverOf({ url, tls = {} }: RedisAddress): RedisOptions & { host: string; port: number } {
  const { hostname, port, protocol, username, password, pathname } = new URL(url);
  const { ca, cert, key, servername } = tls;
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || 6379,
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    db: Number(pathname.slice(1)) || 0,
    ...(protocol === "rediss:" ? { tls: { ca, cert, key, servername } } : {}),
  };
}

/** Connects to no address that the filter refuses: the address it checks is the one it connects to. */
function connectorTo({ host, port, tls }: ReturnType<typeof serverOf>, { assertAllowed, lookup }: AddressFilter) {
  return class extends AbstractConnector {
    constructor() {
      super(CLOSE_TIMEOUT_MS);
    }
    override async connect() {
      this.connecting = true;
      assertAllowed(host);
      const to = { host, port, lookup };
      this.stream = tls === undefined ? connectTcp(to) : connectTls({ ...(tls as object), ...to });
      return this.stream;
    }
  };
}

/** `name`: as Redis lists the connection. */
export type Connecting = { name: string; signal: AbortSignal };

/** Opens a connection that never reconnects. Rejects with RedisFailure, or with `signal.reason` when aborted. */
export async function connectRedis(
  address: RedisAddress,
  { name, signal }: Connecting,
  { clock, addresses = DEFAULT_ADDRESSES }: Pick<AdapterDeps, "clock" | "addresses">,
): Promise<Redis> {
  signal.throwIfAborted();
  const server = serverOf(address);
  const redis = new Redis({
    ...server,
    Connector: connectorTo(server, addresses),
    protocol: 2, // replies as arrays, whatever the server speaks
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    enableReadyCheck: false, // it needs the permission for INFO
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    connectionName: name,
    disableClientInfo: true,
  });
  let cause: unknown = null;
  redis.on("error", (error) => {
    cause ??= error;
  });
  try {
    // A wrong password shows at the first command only.
    await abortableWithin(
      redis.connect().then(() => redis.ping()),
      {
        signal,
        clock,
        ms: CONNECT_TIMEOUT_MS + 1_000,
        late: () => new RedisFailure("ETIMEDOUT", `no answer from ${addressOf(address)}`),
      },
    );
    return redis;
  } catch (error) {
    redis.disconnect();
    if (signal.aborted) throw signal.reason;
    const first = isReply(error) || error instanceof RedisFailure ? error : (cause ?? error);
    if (isReply(first) || first instanceof RedisFailure) {
      throw first instanceof RedisFailure
        ? first
        : new RedisFailure(redisCode(first), describeRedis(first, address), first);
    }
    const text = first instanceof Error ? first.message : String(first);
    const code = redisCode(first);
    throw new RedisFailure(
      code,
      `cannot connect to ${addressOf(address)}: ${text.includes(code) ? text : `${text} (${code})`}`,
      first,
    );
  }
}

/** What a probe shows of what it read, or why it read nothing: `failureText` says it. Its connection ends with it. */
export function probeRedis(
  address: RedisAddress,
  deps: Pick<AdapterDeps, "clock" | "addresses">,
  {
    signal,
    look,
    failureText,
  }: {
    signal: AbortSignal;
    look: (redis: Redis) => Promise<Seen>;
    failureText: (error: unknown) => string;
  },
): Promise<ProbeResult> {
  const looked = async () => {
    const redis = await connectRedis(address, { name: "parkade-probe", signal }, deps);
    return abortable(look(redis), signal).finally(() => redis.disconnect());
  };
  return probed(signal, looked, failureText);
}
