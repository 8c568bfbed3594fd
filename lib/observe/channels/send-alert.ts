import type { AccessTokens } from "@/lib/brokers/http/access-token";
import type { OAuthSettings } from "@/lib/brokers/kinds/fields.shapes";
import { MASK } from "@/lib/brokers/kinds/redact-url.shapes";
import { redactText } from "@/lib/guard/masking/mask-text.pure";
import type { Message } from "@/lib/kit/outbox/message";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import type { ChannelConfig, ConfigOf } from "@/lib/observe/channels/channels.shapes";
import { alertmanagerBody } from "@/lib/observe/channels/formats/alertmanager.pure";
import { type Mail, mailOf } from "@/lib/observe/channels/formats/email.pure";
import { pagerdutyBody } from "@/lib/observe/channels/formats/pagerduty.pure";
import { slackBody } from "@/lib/observe/channels/formats/slack.pure";
import { teamsBody } from "@/lib/observe/channels/formats/teams.pure";
import { webhookBody } from "@/lib/observe/channels/formats/webhook.pure";

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
  if (config.kind === "email") {
    const { server, username = null, password, from, to } = config;
    const secret = password === undefined ? null : carriers.resolveSecret(password, new URL(server).hostname);
    return carriers.mail({ server, username, password: secret, from, to }, mailOf(message, id), signal);
  }
  const request = requestOf(carriers, config, { id, message });
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

type HttpRequest = { url: string; json: string; headers?: Record<string, string> };

function requestOf(
  { resolveAddress, resolveSecret, sign }: Carriers,
  config: Exclude<ChannelConfig, ConfigOf<"email">>,
  { id, message }: { id: string; message: AlertMessage },
): HttpRequest {
  const url = resolveAddress(config.url);
  if (!URL.canParse(url)) throw new UnresolvedSecret("its variable holds no address");
  const host = new URL(url).hostname;
  switch (config.kind) {
    case "webhook": {
      const json = JSON.stringify(webhookBody(message));
      const secret = config.secret === undefined ? null : resolveSecret(config.secret, host);
      // The id alone lets an unsigned receiver recognise a repeat.
      return { url, json, headers: secret === null ? { "webhook-id": id } : sign(secret, { id, body: json }) };
    }
    case "slack":
      return { url, json: JSON.stringify(slackBody(message)) };
    case "teams":
      return { url, json: JSON.stringify(teamsBody(message)) };
    case "pagerduty":
      return { url, json: JSON.stringify(pagerdutyBody(message, resolveSecret(config.routingKey, host))) };
    case "alertmanager": {
      const { username, password } = config;
      const pair = `${username ?? ""}:${password === undefined ? "" : resolveSecret(password, host)}`;
      const headers: Record<string, string> =
        username === undefined ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
      const json = JSON.stringify(alertmanagerBody(message));
      return { url: `${url.replace(/\/$/, "")}/api/v2/alerts`, json, headers };
    }
  }
}

async function post(
  { fetch }: Carriers,
  { url, json, headers = {} }: HttpRequest,
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
