import { type ChannelModel, connect } from "amqplib";
import { abortableWithin } from "@/lib/brokers/abortable";
import { CodedError, tlsFault } from "@/lib/brokers/coded-error";
import type { TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import { keepExactProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import { ADDRESS_REFUSED, type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { atMost, type Clock } from "@/lib/platform/clock";

/** Two missed intervals end the connection: a peer that vanished is noticed within 20 to 30 seconds. */
const HEARTBEAT_SECONDS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a close handshake may take before the socket is simply dropped. */
const CLOSE_TIMEOUT_MS = 3_000;

export class AmqpError extends CodedError {
  override readonly name = "AmqpError";
}

/** Reply codes with a name that is in use; any other code is given by its number (`AMQP_530`). */
const REPLY_NAMES: Record<number, string> = {
  311: "AMQP_CONTENT_TOO_LARGE",
  320: "AMQP_CONNECTION_FORCED",
  403: "AMQP_ACCESS_REFUSED",
  404: "AMQP_NOT_FOUND",
  406: "AMQP_PRECONDITION_FAILED",
  506: "AMQP_RESOURCE_ERROR",
};

export function amqpCode(error: unknown): string {
  if (error instanceof AmqpError) return error.code;
  const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
  if (typeof code === "string") return code;
  // The library keeps the answer to itself: the server closes here when it refuses the virtual host (530, NOT_ALLOWED).
  if (message.startsWith("Expected ConnectionOpenOk; got <ConnectionClose")) return "AMQP_NOT_ALLOWED";
  // A refused handshake carries the reply code in its text alone: `... 403 (ACCESS-REFUSED) with message ...`.
  const inText = /\b(\d{3}) \([A-Z-]+\)/.exec(message)?.[1];
  const reply = typeof code === "number" ? code : Number(inText);
  return REPLY_NAMES[reply] ?? (Number.isNaN(reply) ? "AMQP_NOT_CONNECTED" : `AMQP_${reply}`);
}

/** Why a connection could not be made, with what a person can do about it. */
function refusalText(error: unknown, code: string, url: string): string {
  if (code === "AMQP_ACCESS_REFUSED") return "it refuses the login: check the user and the password";
  if (code === "AMQP_NOT_ALLOWED")
    return "it does not open this virtual host: it does not exist, or the user may not use it";
  // The bytes that another kind of server has sent help no person, and may help a person who scans ports.
  if (code === "AMQP_NOT_CONNECTED") return "it does not answer as an AMQP broker";
  return tlsFault(code, new URL(url).host) ?? (error instanceof Error ? error.message : String(error));
}

type AmqpAddress = { url: string; tls?: TlsSettings | undefined };

/** `host:port, vhost /prod`: an address without credentials. */
export function addressText(url: string): string {
  const { hostname, port, pathname, protocol } = new URL(url);
  const vhost = pathname.length > 1 ? decodeURIComponent(pathname.slice(1)) : "/";
  return `${hostname}:${port || (protocol === "amqps:" ? 5671 : 5672)}, vhost ${vhost}`;
}

function withHeartbeat(url: string): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has("heartbeat")) parsed.searchParams.set("heartbeat", String(HEARTBEAT_SECONDS));
  return parsed.href;
}

type ConnectOptions = { name: string; clock: Clock; signal: AbortSignal; addresses?: AddressFilter | undefined };

function assertAddress(url: string, addresses: AddressFilter): void {
  try {
    addresses.assertAllowed(new URL(url).hostname);
  } catch (error) {
    throw new AmqpError(ADDRESS_REFUSED, `cannot connect to ${addressText(url)}: ${(error as Error).message}`, error);
  }
}

/**
 * Opens a connection that keeps message properties exactly (see exact-properties). Rejects with AmqpError, or with
 * `signal.reason` when aborted. Its `error` events have a listener, so a lost connection never ends the process; the
 * caller watches `close`.
 */
export async function openConnection(
  { url, tls = {} }: AmqpAddress,
  { name, clock, signal, addresses = DEFAULT_ADDRESSES }: ConnectOptions,
): Promise<ChannelModel> {
  signal.throwIfAborted();
  assertAddress(url, addresses);
  const opening = connect(withHeartbeat(url), {
    ...tls,
    lookup: addresses.lookup,
    noDelay: true,
    keepAlive: true,
    timeout: CONNECT_TIMEOUT_MS + 1_000, // amqplib's own timeout has no code; ours below answers first
    clientProperties: { connection_name: name },
  });
  try {
    const model = await abortableWithin(opening, {
      signal,
      clock,
      ms: CONNECT_TIMEOUT_MS,
      late: () => new AmqpError("ETIMEDOUT", `no answer from ${addressText(url)} in ${CONNECT_TIMEOUT_MS / 1000} s`),
    });
    keepExactProperties(model);
    model.on("error", () => undefined); // `close` follows with the same error
    return model;
  } catch (error) {
    // The handshake may still succeed after this call has ended: its connection must be closed then.
    opening.then(dropConnection, () => undefined);
    if (error instanceof AmqpError || signal.aborted) throw error;
    const code = amqpCode(error);
    throw new AmqpError(code, `cannot connect to ${addressText(url)}: ${refusalText(error, code, url)}`, error);
  }
}

/**
 * Throws AmqpError for a stream: it is read from an offset, which nobody stores, and each connection would skip messages.
 * Other types of queue refuse the argument, with an error in the broker's log; a user without further permissions has no
 * other way to tell them apart.
 */
export async function refuseStream(model: ChannelModel, queue: string): Promise<void> {
  const channel = await model.createChannel();
  channel.on("error", () => undefined); // the rejected call carries the same error
  try {
    await channel.checkQueue(queue);
    await channel.prefetch(1); // a stream demands it
    await channel.consume(queue, () => undefined, { arguments: { "x-stream-offset": "next" } });
  } catch (error) {
    if (amqpCode(error) === "AMQP_PRECONDITION_FAILED") return;
    throw error;
  }
  throw new AmqpError("AMQP_STREAM", `${queue} is a stream: Parkade reads classic and quorum queues only`);
}

export function describeQueue(error: unknown, { url, queue }: { url: string; queue: string }): string {
  const where = addressText(url);
  const code = amqpCode(error);
  if (code === "AMQP_NOT_FOUND" && error instanceof Error && error.message.includes("inaccessible"))
    return `queue ${queue} is down on ${where}, or still starting there`;
  if (code === "AMQP_NOT_FOUND") return `queue ${queue} does not exist on ${where}`;
  if (error instanceof AmqpError) return error.message;
  if (code === "AMQP_ACCESS_REFUSED") return `${where} refuses access: the user needs the permission to read ${queue}`;
  return `lost ${where} (${code})`;
}

/** Ends a connection at once, without a handshake. Unacknowledged deliveries go back to their queue. */
export function dropConnection(model: ChannelModel): void {
  const { stream } = model.connection as unknown as { stream?: { destroy(error: Error): void } };
  model.on("error", () => undefined);
  // Only an error makes amqplib end its heartbeat, whose timers would keep the process alive.
  stream?.destroy(new Error("connection dropped"));
}

/** Closes with the protocol's handshake, which also flushes what was written, or drops the connection after a while. */
export async function closeConnection(model: ChannelModel, clock: Clock): Promise<void> {
  // A connection that is closed already rejects here: there is nothing to close.
  await atMost(clock, CLOSE_TIMEOUT_MS, model.close()).catch(() => undefined);
  dropConnection(model);
}
