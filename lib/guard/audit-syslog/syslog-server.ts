import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type SyslogAddress, syslogAddressText } from "@/lib/guard/audit-syslog/syslog-address.pure";
import { type AddressFilter, checkedSocket } from "@/lib/platform/address-filter";
import { type Clock, within } from "@/lib/platform/clock";

export type SyslogServer = {
  /** As an operator names it. */
  readonly name: string;
  /** Of one message; null = a message is never cut. */
  readonly messageBytesMax: number | null;
  /** Of one `send`. */
  readonly messagesMax: number;
  readonly bytesMax: number;
  /** Resolves when the server has all of them, of UDP: when they are on their way. They are ASCII. */
  send(messages: readonly string[], signal?: AbortSignal): Promise<void>;
};

/** While it lasts a transaction is open, which the store ends after four seconds without a statement. */
const SEND_MS_MAX = 3_000;
/**
 * Between the messages and the end of the connection, beside two round trips: a server that closes by itself, before it has read
 * everything, has said so by then.
 */
const PAUSE_MS = 20;
/** The time of a connection holds that of its name server, which may be slow. */
const ROUND_TRIPS_MS_MAX = 500;
/** What a receiver takes at least, of those that are in use; the limit of a datagram is 64 KiB. */
const DATAGRAM_BYTES_MAX = 8_192;

type ServerDeps = { clock: Clock; addresses: AddressFilter };

export function syslogServer(address: SyslogAddress, { clock, addresses }: ServerDeps): SyslogServer {
  const name = syslogAddressText(address);
  const send = address.protocol === "udp" ? sendDatagrams : sendStream;
  // Datagrams that come faster than a server reads them are lost: its buffer holds some hundred KiB.
  const limits =
    address.protocol === "udp"
      ? { messageBytesMax: DATAGRAM_BYTES_MAX, messagesMax: 100, bytesMax: 64 * 1024 }
      : { messageBytesMax: null, messagesMax: 500, bytesMax: 1024 * 1024 };
  return {
    ...limits,
    name,
    send: async (messages, stop) => {
      try {
        await within(clock, SEND_MS_MAX, (late) =>
          send(address, messages, { clock, addresses, signal: stop ? AbortSignal.any([late, stop]) : late }),
        );
      } catch (error) {
        throw new Error(`the audit could not be sent to ${name}`, { cause: error });
      }
    },
  };
}

type Sending = { clock: Clock; addresses: AddressFilter; signal: AbortSignal };

/**
 * Octet counting, RFC 6587, on a connection of its own. Syslog has no acknowledgement: the connection is ended after the
 * messages, and they count as taken when the server ends it as well, and not before. A server that dies before it has read them
 * resets it.
 */
async function sendStream(address: SyslogAddress, messages: readonly string[], sending: Sending) {
  const { clock, addresses, signal } = sending;
  const { protocol, host, port } = address;
  signal.throwIfAborted();
  const socket = checkedSocket(addresses);
  let stream = socket;
  const stop = () => stream.destroy(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const beganMs = clock.nowMs();
    await new Promise<void>((resolve, reject) => {
      // Stays: under TLS both sockets tell of an error.
      socket.on("error", reject);
      socket.once("connect", () => resolve());
      socket.connect(port, host);
    });
    const connectMs = clock.nowMs() - beganMs;
    // The certificate must be for the host; SNI names no IP address.
    if (protocol === "tls") stream = connectTls({ socket, host, ...(isIP(host) ? {} : { servername: host }) });
    const text = messages.map((message) => `${message.length} ${message}`).join("");
    await handOver(stream, text, (end) => clock.timer(PAUSE_MS + Math.min(2 * connectMs, ROUND_TRIPS_MS_MAX), end));
  } finally {
    signal.removeEventListener("abort", stop);
    stream.destroy();
    socket.destroy();
  }
}

function handOver(stream: Socket, text: string, afterPause: (end: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let ended = false;
    const early = () => reject(new Error("the server closed the connection before it had everything"));
    stream.once("error", reject);
    stream.once("close", early);
    stream.once("end", () => (ended && stream.writableFinished ? resolve() : early()));
    stream.resume();
    stream.write(text, "latin1", (error) => {
      if (error) return;
      // A timer that is late fires before what has come meanwhile is read: an end of the server is seen first.
      afterPause(() =>
        setImmediate(() => {
          ended = true;
          stream.end();
        }),
      );
    });
  });
}

async function sendDatagrams({ host, port }: SyslogAddress, messages: readonly string[], sending: Sending) {
  const { addresses, signal } = sending;
  addresses.assertAllowed(host);
  const { address, family } = await lookUp(addresses, host);
  signal.throwIfAborted();
  const socket = createSocket({ type: family === 6 ? "udp6" : "udp4", signal });
  try {
    await new Promise<void>((resolve, reject) => {
      // Stays: a connected socket learns at any time that nobody listens at the other machine.
      socket.on("error", reject);
      socket.once("close", () => reject(signal.reason));
      socket.connect(port, address, async () => {
        for (const message of messages) await sendDatagram(socket, message).catch(reject);
        resolve();
      });
    });
  } finally {
    if (!signal.aborted) socket.close();
  }
}

function sendDatagram(socket: UdpSocket, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(Buffer.from(message, "latin1"), (error) => (error ? reject(error) : resolve()));
  });
}

function lookUp({ lookup }: AddressFilter, host: string): Promise<{ address: string; family: number }> {
  return new Promise((resolve, reject) => {
    lookup(host, {}, (error, address, family) => {
      if (error) reject(error);
      else resolve({ address: address as string, family: family ?? 4 });
    });
  });
}
