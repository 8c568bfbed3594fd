import { isIP, connect as tcpConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import rhea, { type AmqpError, type Connection, type ConnectionOptions, type Delivery, type Session } from "rhea";
import { abortableWithin } from "@/lib/brokers/abortable";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { CodedError, tlsFault } from "@/lib/brokers/coded-error";
import type { AdapterDeps } from "@/lib/brokers/port";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { atMost, type Clock } from "@/lib/platform/clock";

const CONNECT_TIMEOUT_MS = 10_000;
/** A peer that sends nothing for twice this time is gone. The broker is asked to send as often, and does so when idle. */
const IDLE_MS = 15_000;
/** How long a close handshake may take before the socket is dropped. */
const CLOSE_TIMEOUT_MS = 3_000;
/** Maximum unsettled deliveries of a session. rhea frees them in order, so one message held for long keeps all behind it. */
const SESSION_DELIVERIES_MAX = 16_384;

export class Amqp10Fault extends CodedError {
  override readonly name = "Amqp10Fault";
}

/** Conditions that mean the same as a reply code of AMQP 0-9-1 have its name: retry policies know those. */
const CONDITIONS: Record<string, string> = {
  "amqp:unauthorized-access": "AMQP_ACCESS_REFUSED",
  "com.microsoft:auth-failed": "AMQP_ACCESS_REFUSED",
  "amqp:link:message-size-exceeded": "AMQP_CONTENT_TOO_LARGE",
  "com.microsoft:message-size-exceeded": "AMQP_CONTENT_TOO_LARGE",
  "amqp:resource-limit-exceeded": "AMQP_RESOURCE_ERROR",
  "com.microsoft:server-busy": "AMQP_RESOURCE_ERROR",
};

function conditionCode(condition: string): string {
  const last = condition
    .split(":")
    .at(-1)!
    .replace(/[^A-Za-z0-9]+/g, "_");
  return CONDITIONS[condition] ?? `AMQP_${last.toUpperCase()}`;
}

type Failure = Partial<AmqpError> & { code?: unknown; message?: string };

export function amqp10Code(error: unknown): string {
  if (error instanceof Amqp10Fault) return error.code;
  const { condition, description = "", code } = (error ?? {}) as Failure;
  // Artemis says so of a sender that it refuses, with its own code and amqp:internal-error.
  if (/^AMQ22903[12]\b/.test(description)) return "AMQP_ACCESS_REFUSED";
  if (typeof condition === "string") return conditionCode(condition);
  return typeof code === "string" ? code : "AMQP_NOT_CONNECTED";
}

/** `host:port`, without credentials. */
export function hostOf({ url }: Pick<Amqp10Config, "url">): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "amqps:" ? 5671 : 5672)}`;
}

/** An error in words that name the cause and the fix. `address`: what was to be read or written. */
export function describeAmqp10(error: unknown, config: Amqp10Config, address: string | null): string {
  if (error instanceof Amqp10Fault) return error.message;
  const where = hostOf(config);
  const code = amqp10Code(error);
  const { description, message } = (error ?? {}) as Failure;
  const said = description ?? message ?? "no reason given";
  const untrusted = tlsFault(code, where);
  if (untrusted !== null) return untrusted;
  if (code === "AMQP_ACCESS_REFUSED")
    return address === null
      ? `${where} refuses access: check the user and the password`
      : `${where} refuses access to ${address}: check the permission of the user (${said})`;
  if (code === "AMQP_NOT_FOUND") return `${address ?? "the address"} does not exist on ${where}`;
  if (code === "AMQP_NOT_CONNECTED") return `${where} does not answer as an AMQP 1.0 broker, or closed the connection`;
  const text = said.includes(code) ? said : `${said} (${code})`;
  return code.startsWith("AMQP_") ? `${where} reports: ${text}` : `cannot connect to ${where}: ${text}`;
}

function optionsOf(config: Amqp10Config, name: string, { lookup }: AddressFilter): ConnectionOptions {
  const { hostname, port, protocol, username, password } = new URL(config.url);
  const { ca, cert, key, servername } = config.tls ?? {};
  const host = hostname.replace(/^\[|\]$/g, "");
  const secure = protocol === "amqps:";
  const user = config.username ?? decodeURIComponent(username);
  const certificateOnly = user === "" && cert !== undefined;
  const options = {
    host,
    hostname: host,
    port: Number(port) || (secure ? 5671 : 5672),
    transport: secure ? "tls" : "tcp",
    ...(certificateOnly
      ? { enable_sasl_external: true }
      : { username: user || "anonymous", password: config.password ?? decodeURIComponent(password) }),
    ca,
    cert,
    key,
    reconnect: false,
    idle_time_out: IDLE_MS,
    container_id: `${name} ${rhea.generate_uuid()}`,
    // An IP address is no server name for TLS.
    servername: servername ?? (isIP(host) === 0 ? host : ""),
    tcp_no_delay: true,
    // rhea's own way to a TCP socket takes no options, and a name is checked when it is looked up.
    connection_details: () => ({ host, port: options.port, options, connect }),
  };
  const connect = (port: number, _: string, settings: object, connected: () => void) =>
    secure ? tlsConnect({ ...settings, host, port, lookup }, connected) : tcpConnect({ host, port, lookup }, connected);

  return options as unknown as ConnectionOptions;
}

type Ended = { error?: unknown; connection?: { error?: unknown } };

/** Calls `ended` with the cause, once or more, when the connection ends by whatever way. */
export function onEnd(connection: Connection, ended: (error: unknown) => void): void {
  for (const event of ["connection_error", "connection_close", "disconnected"])
    connection.on(event, (context: Ended) => ended(context.error ?? context.connection?.error ?? null));
  for (const event of ["protocol_error", "error"]) connection.on(event, (error: unknown) => ended(error));
}

type ConnectOptions = { name: string; signal: AbortSignal } & Pick<AdapterDeps, "clock" | "addresses">;

/**
 * One connection, made now, that does not reconnect. Rejects with Amqp10Fault, or with `signal.reason` when aborted.
 */
export async function openAmqp10(
  config: Amqp10Config,
  { name, clock, signal, addresses = DEFAULT_ADDRESSES }: ConnectOptions,
): Promise<Connection> {
  signal.throwIfAborted();
  try {
    addresses.assertAllowed(new URL(config.url).hostname);
  } catch (error) {
    throw new Amqp10Fault(amqp10Code(error), describeAmqp10(error, config, null), error);
  }
  const opened = Promise.withResolvers<void>();
  const connection = rhea.create_container().connect(optionsOf(config, name, addresses));
  connection.once("connection_open", () => opened.resolve());
  // A socket error is followed by a plain end, and a refusal by a close: the first says why.
  onEnd(connection, (error) => opened.reject(error));
  try {
    await abortableWithin(opened.promise, {
      signal,
      clock,
      ms: CONNECT_TIMEOUT_MS,
      late: () => new Amqp10Fault("ETIMEDOUT", `no answer from ${hostOf(config)} in ${CONNECT_TIMEOUT_MS / 1000} s`),
    });
    return connection;
  } catch (error) {
    dropAmqp10(connection);
    if (signal.aborted) throw signal.reason;
    throw new Amqp10Fault(amqp10Code(error), describeAmqp10(error, config, null), error);
  }
}

/** Ends a connection at once. The broker has everything back that was not settled. */
export function dropAmqp10(connection: Connection): void {
  const { socket } = connection as unknown as { socket?: { destroy(): void } };
  connection.close(); // ends the timers of its heartbeat
  socket?.destroy();
  // rhea ends its timers with the socket's events, which a destroyed socket does not emit any more.
  (connection as unknown as { _disconnected(): void })._disconnected();
}

/** Closes with the protocol's handshake, which flushes what was written before, or drops the connection after a while. */
export async function closeAmqp10(connection: Connection, clock: Clock): Promise<void> {
  if (connection.is_open()) {
    const closed = Promise.withResolvers<void>();
    onEnd(connection, () => closed.resolve());
    connection.close();
    await atMost(clock, CLOSE_TIMEOUT_MS, closed.promise);
  }
  dropAmqp10(connection);
}

/** What a message event holds on a raw session: the bytes of the message. */
export type RawMessage = { message: Buffer; delivery: Delivery };

type Internals = {
  incoming?: {
    window: number;
    on_transfer(frame: { performative: { message_format: number | null } }, receiver: unknown): void;
  };
};
/** Any but 0, which makes rhea decode: it would lose the types of values, and one message that it cannot read would end it. */
const UNDECODED = 1;

/** A session whose messages are bytes. Throws when rhea's internals are others than those Parkade was tested with. */
export function openRawSession(connection: Connection): Session {
  const session = connection.create_session({ incoming: SESSION_DELIVERIES_MAX });
  const { incoming } = session as unknown as Internals;
  if (typeof incoming?.on_transfer !== "function") throw new Error("this version of rhea has other internals");
  const onTransfer = incoming.on_transfer;
  incoming.on_transfer = function (frame, receiver) {
    frame.performative.message_format = UNDECODED;
    onTransfer.call(this, frame, receiver);
  };
  session.begin();
  return session;
}

/** How many more deliveries the session takes before its oldest one is settled. */
export function roomOf(session: Session): number {
  return (session as unknown as Internals).incoming!.window;
}
