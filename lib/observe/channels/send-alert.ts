import type { AccessTokens } from "@/lib/brokers/http/access-token";
import type { OAuthSettings } from "@/lib/brokers/kinds/fields.shapes";
import { redactText } from "@/lib/guard/masking/mask-text.pure";
import { MASK } from "@/lib/guard/redaction/redact-url.shapes";
import type { Message } from "@/lib/kit/outbox/message";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import type { ChannelConfig } from "@/lib/observe/channels/channels.shapes";
import type { Mail } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";

type MailServer = {
  server: string;
  username: string | null;
  password: string | null;
  from: string;
  to: readonly string[];
};

/** What sends: each connects through the address filter, and ends on the signal. */
export type Carriers = {
  fetch: typeof globalThis.fetch;
  /** Headers of Standard Webhooks. */
  sign(secret: string, signed: { id: string; body: string }): Record<string, string>;
  mail(server: MailServer, mail: Mail, signal: AbortSignal): Promise<void>;
  /** The address that `env:NAME` or `file:/...` stands for; any other text as it is. Throws UnresolvedSecret. */
  resolveAddress(text: string): string;
  /** The same of a secret; `host`: where it is sent. */
  resolveSecret(text: string, host: string): string;
  /** The token of an OAuth client, which all its messages share. */
  tokens(resolved: OAuthSettings): Pick<AccessTokens, "send">;
};

/** A receiver refused a message. `message` names its host, never its address: that is a secret of some kinds. */
export class ChannelRefusal extends Error {
  override readonly name = "ChannelRefusal";
  readonly status: number;
  readonly retryAfter: string | null;

  constructor(response: Response, host: string, said: string) {
    super(`${host} answered ${response.status}${said === "" ? "" : `: ${said}`}`);
    this.status = response.status;
    this.retryAfter = response.headers.get("retry-after");
  }
}

/** A variable is not set in the worker: it is tried again, because the next worker may have it. */
export class UnresolvedSecret extends Error {
  override readonly name = "UnresolvedSecret";
}

/** Characters of an answer that the delivery log keeps. */
const SAID_MAX = 200;

/** Sends one message of the outbox to its channel. Rejects when it was not taken. */
export async function sendAlert(
  carriers: Carriers,
  config: ChannelConfig,
  { id, body }: Pick<Message, "id" | "body">,
  signal: AbortSignal,
): Promise<void> {
  const message = JSON.parse(Buffer.from(body).toString("utf8")) as AlertMessage;
  const kind = channelKindOf(config.kind);
  if ("mail" in kind) {
    const { server, username = null, password, from, to } = config as Extract<ChannelConfig, { server: string }>;
    const secret = password === undefined ? null : carriers.resolveSecret(password, new URL(server).hostname);
    return carriers.mail({ server, username, password: secret, from, to }, kind.mail(message, id), signal);
  }
  const { resolveAddress, resolveSecret, sign } = carriers;
  const address = resolveAddress("url" in config ? config.url : "");
  if (!URL.canParse(address)) throw new UnresolvedSecret("its variable contains no address");
  const host = new URL(address).hostname;
  const { json, path, basic, headers } = kind.post(message, config, {
    id,
    resolve: (reference) => resolveSecret(reference, host),
    sign: (secret, body) => sign(secret, { id, body }),
  });
  const pair = basic && Buffer.from(`${basic.username}:${basic.password}`).toString("base64");
  const request = {
    url: path === undefined ? address : address.replace(/\/$/, "") + path,
    json,
    headers: { ...headers, ...(pair !== undefined && { authorization: `Basic ${pair}` }) },
  };
  const oauth = "oauth" in config ? config.oauth : undefined;
  const { refusal } = await (oauth === undefined
    ? post(carriers, request, signal)
    : tokensOf(carriers, oauth).send((token) => post(carriers, withToken(request, token), signal), signal));
  if (refusal !== null) throw refusal;
}

function tokensOf({ resolveAddress, resolveSecret, tokens }: Carriers, oauth: OAuthSettings) {
  const url = resolveAddress(oauth.url);
  return tokens({ ...oauth, url, clientSecret: resolveSecret(oauth.clientSecret, new URL(url).hostname) });
}

function withToken({ headers, ...request }: HttpRequest, token: string | null): HttpRequest {
  return { ...request, headers: { ...headers, ...(token !== null && { authorization: token }) } };
}

type HttpRequest = { url: string; json: string; headers: Record<string, string> };

async function post(
  { fetch }: Carriers,
  { url, json, headers }: HttpRequest,
  signal: AbortSignal,
): Promise<{ status: number; refusal: ChannelRefusal | null }> {
  const response = await fetch(new URL(url), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: json,
    redirect: "error",
    signal,
  });
  const text = await response.text();
  const credential = headers.authorization?.split(" ")[1];
  const masked = credential === undefined ? text : text.replaceAll(credential, MASK);
  const said = redactText(masked.replace(/\s+/g, " ").trim().slice(0, SAID_MAX));
  const refusal = response.ok ? null : new ChannelRefusal(response, new URL(url).host, said);
  return { status: response.status, refusal };
}
