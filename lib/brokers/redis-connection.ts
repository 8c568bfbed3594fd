import { Redis } from "ioredis";
import type { TlsSettings } from "@/lib/kinds/fields";
import type { Clock } from "@/lib/platform/clock";

const CONNECT_TIMEOUT_MS = 5_000;

export type RedisAddress = { url: string; tls?: TlsSettings | undefined };

/** `host:port`, without credentials. */
export function addressOf({ url }: RedisAddress): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || 6379}`;
}

/** A failed connection or command. The message names host and cause and never credentials. */
export class RedisFailure extends Error {
  override readonly name = "RedisFailure";
  /** `ECONNREFUSED`, `REDIS_WRONGPASS`, `REDIS_NOPERM`, `REDIS_NO_STREAM`, ... upper snake case. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * The code of an error of ioredis: `REDIS_` and the first word of the server's reply, or the code of the socket. A
 * connection that ended under a command has `ECONNRESET`.
 */
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

/**
 * One connection, made now, that does not reconnect: whoever holds it makes another. Rejects with RedisFailure, or with
 * `signal.reason` when aborted.
 */
export async function connectRedis(
  address: RedisAddress,
  { name, clock, signal }: { name: string; clock: Clock; signal: AbortSignal },
): Promise<Redis> {
  signal.throwIfAborted();
  const { ca, cert, key, servername } = address.tls ?? {};
  const tls = address.url.startsWith("rediss:") ? { tls: { ca, cert, key, servername } } : {};
  const redis = new Redis(address.url, {
    ...tls,
    protocol: 2, // replies as arrays, whatever the server speaks
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    connectionName: name,
    disableClientInfo: true,
  });
  let cause: unknown = null;
  redis.on("error", (error) => {
    cause ??= error;
  });
  const late = Promise.withResolvers<never>();
  const stopTimer = clock.timer(CONNECT_TIMEOUT_MS + 1_000, () =>
    late.reject(new RedisFailure("ETIMEDOUT", `no answer from ${addressOf(address)}`)),
  );
  const aborted = () => late.reject(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  try {
    await Promise.race([redis.connect(), late.promise]);
    // Without a ready check that needs no permission, a wrong password shows at the first command only.
    await Promise.race([redis.ping(), late.promise]);
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
  } finally {
    stopTimer();
    signal.removeEventListener("abort", aborted);
  }
}
