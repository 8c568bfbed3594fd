import {
  connect,
  credsAuthenticator,
  type Msg,
  type NatsConnection,
  type NodeConnectionOptions,
  nkeyAuthenticator,
} from "@nats-io/transport-node";
import { NodeTransport } from "@nats-io/transport-node/lib/node_transport.js";
import { abortable } from "@/lib/brokers/abortable";
import { NatsFault, natsFault } from "@/lib/brokers/nats/fault";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import type { AdapterDeps } from "@/lib/brokers/port";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

const CONNECT_TIMEOUT_MS = 5_000;
/** Two missed answers end the connection: a server that vanished is noticed within 20 to 30 seconds. */
const PING_MS = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;

function loginOf({ user, password, token, nkeySeed, creds }: NatsConfig): Partial<NodeConnectionOptions> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  if (creds !== undefined) return { authenticator: credsAuthenticator(bytes(creds)) };
  if (nkeySeed !== undefined) return { authenticator: nkeyAuthenticator(bytes(nkeySeed.trim())) };
  if (token !== undefined) return { token };
  return user === undefined || password === undefined ? {} : { user, pass: password };
}

type Dial = (this: { options: { addresses?: AddressFilter } }, server: { hostname: string }) => Promise<unknown>;
/** Both open a socket. The client looks names up before, so they get the address that is connected to. */
const dials = NodeTransport.prototype as unknown as { dial: Dial; tlsFirst: Dial };

/** The client takes neither a socket nor a way to look names up; it keeps options that it does not know. */
for (const name of ["dial", "tlsFirst"] as const) {
  const dial = dials[name];
  if (typeof dial !== "function") throw new Error("this version of the NATS client has other internals");
  dials[name] = async function (server) {
    this.options.addresses?.assertAddress(server.hostname);
    return await dial.call(this, server);
  };
}

/** Opens a connection that never reconnects. Rejects with NatsFault, or with `signal.reason` when aborted. */
export async function connectNats(
  config: NatsConfig,
  name: string,
  { addresses = DEFAULT_ADDRESSES }: Pick<AdapterDeps, "addresses">,
  signal: AbortSignal,
): Promise<NatsConnection> {
  signal.throwIfAborted();
  try {
    const opening = open(config, name, addresses);
    // The handshake may still succeed after an abort: its connection must be closed then.
    opening.then((late) => (signal.aborted ? late.close() : undefined)).catch(() => undefined);
    return await abortable(opening, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw natsFault(error, config);
  }
}

/** Throws at once for a seed or a credentials file that is none. */
async function open(config: NatsConfig, name: string, addresses: AddressFilter): Promise<NatsConnection> {
  const { tls, servers } = config;
  const options: NodeConnectionOptions & { addresses: AddressFilter } = {
    addresses,
    servers,
    name,
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ...loginOf(config),
    // The client hands all settings of TLS on to Node; its type knows fewer of them.
    ...(tls === undefined ? {} : { tls: tls as NonNullable<NodeConnectionOptions["tls"]> }),
  };
  return await connect(options);
}

/** The first subject of JetStream's API. */
function apiPrefix({ domain }: NatsConfig): string {
  return domain === undefined ? "$JS.API" : `$JS.${domain}.API`;
}

type ApiAnswer = { error?: { code: number; err_code: number; description: string } };

/** The JSON of an answer of JetStream. Throws NatsFault for an error in it. */
export function answerOf<T>(message: Msg): T {
  const answer = message.json<T & ApiAnswer>();
  if (answer.error === undefined) return answer;
  const { err_code, description } = answer.error;
  throw new NatsFault(`NATS_${err_code}`, `NATS answered: ${description}`);
}

type Stored = { subject: string; seq: number; timeNanos: string; headers: Uint8Array | null; data: Uint8Array };

/** No message of that sequence, or of a later one that matches. */
const NOT_FOUND = "NATS_10037";
type Asked = { seq: number; next_by_subj?: string };

/** A message of a stream by its sequence, without a consumer; null when it is not there any more. */
export async function storedMessage(
  nc: NatsConnection,
  config: NatsConfig,
  { stream, ...asked }: Asked & { stream: string },
): Promise<Stored | null> {
  try {
    const answer = answerOf<{ message: { subject: string; seq: number; time: string; hdrs?: string; data?: string } }>(
      await nc.request(`${apiPrefix(config)}.STREAM.MSG.GET.${stream}`, JSON.stringify(asked), {
        timeout: REQUEST_TIMEOUT_MS,
      }),
    );
    const { subject, seq, time, hdrs, data = "" } = answer.message;
    return {
      subject,
      seq,
      timeNanos: nanosOf(time),
      headers: hdrs === undefined ? null : Buffer.from(hdrs, "base64"),
      data: Buffer.from(data, "base64"),
    };
  } catch (error) {
    if (error instanceof NatsFault && error.code === NOT_FOUND) return null;
    throw error;
  }
}

/** An instant as NATS writes it, with up to nine digits behind the second. */
function nanosOf(time: string): string {
  const [seconds = "", fraction = ""] = time.replace(/Z$/, "").split(".");
  return String(BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0")));
}
