import { createTransport } from "nodemailer";
import { type AddressFilter, checkedSocket } from "@/lib/platform/address-filter";

export type MailOptions = {
  /** `smtp://host:port`, which begins plain and changes to TLS where the server offers it, or `smtps://host:port`. */
  server: string;
  username: string | null;
  password: string | null;
};
export type MailMessage = {
  from: string;
  to: readonly string[];
  subject: string;
  text: string;
  html: string;
  messageId: string;
  inReplyTo: string;
};

const PORTS: Record<string, number> = { "smtp:": 587, "smtps:": 465 };
const CONNECT_MS = 5_000;
const SILENT_MS = 8_000;

/**
 * Sends one mail over a connection of its own, to an address that the filter allows. Credentials are sent over TLS alone.
 * Rejects when the server does not take it from all recipients, and when the signal aborts.
 */
export async function sendMail(
  { server, username, password }: MailOptions,
  message: MailMessage,
  { addresses, signal }: { addresses: AddressFilter; signal: AbortSignal },
): Promise<void> {
  const { hostname, port, protocol } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, "");
  const toPort = Number(port) || PORTS[protocol]!;
  const socket = checkedSocket(addresses);
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`${host} does not answer`)));
  const end = () => socket.destroy(signal.reason instanceof Error ? signal.reason : new Error("the send was ended"));
  signal.addEventListener("abort", end, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(toPort, host);
      socket.once("connect", () => resolve());
    });
    socket.setTimeout(0);
    const transport = createTransport({
      host,
      port: toPort,
      secure: protocol === "smtps:",
      connection: socket,
      requireTLS: username !== null && protocol === "smtp:",
      tls: { servername: host },
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(username === null ? {} : { auth: { user: username, pass: password ?? "" } }),
    });
    const { rejected } = await transport.sendMail({
      ...message,
      to: [...message.to],
      references: message.inReplyTo,
      headers: { "auto-submitted": "auto-generated" },
    });
    if (rejected.length > 0) throw new Error(`${host} refused ${rejected.length} of ${message.to.length} recipients`);
  } finally {
    signal.removeEventListener("abort", end);
    socket.destroy();
  }
}
