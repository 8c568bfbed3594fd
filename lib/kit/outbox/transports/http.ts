import { webhookHeaders, webhookKey } from "@/lib/brokers/http/request-signature";
import { host } from "@/lib/kit/host";
import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";
import { failureOf, fromPublisher } from "@/lib/kit/outbox/transports/send-each";
import { parseRetryAfter } from "@/lib/retry/retry-after";

export type HttpOptions = {
  /** The base of destinations that are paths. */
  url?: string;
  headers?: Record<string, string>;
  /** Signs each request by the Standard Webhooks scheme: `whsec_` and base64, or any text. */
  secret?: string;
  fetch?: typeof fetch;
  clock?: { wallMs(): number };
};

/** Posts each message to its destination, a URL or a path. The event's id is the Idempotency-Key. 2xx is stored. */
export function httpTransport(options: HttpOptions = {}): Transport {
  const { fetch = globalThis.fetch, clock = host.clock } = options;
  return fromPublisher(
    async (message, signal) => {
      const response = await fetch(new URL(message.destination, options.url), {
        method: "POST",
        headers: headersOf(message, options, Math.floor(clock.wallMs() / 1_000)),
        body: message.body as BodyInit,
        redirect: "error",
        signal,
      });
      // Read to its end, so that the connection is used again.
      await response.arrayBuffer();
      if (!response.ok) throw new HttpRefusal(response);
    },
    (error) => judge(error, clock.wallMs()),
  );
}

export class HttpRefusal extends Error {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The code of Parkade's problem; null = the answer names none. */
  readonly problem: string | null;

  constructor(response: Response, problem?: string) {
    super(`${new URL(response.url).origin} answered ${response.status}`);
    this.name = "HttpRefusal";
    this.status = response.status;
    this.retryAfter = response.headers.get("retry-after");
    this.problem = problem ?? null;
  }
}

function judge(error: unknown, wallMs: number): MessageResult {
  const retryAfter = error instanceof HttpRefusal ? error.retryAfter : null;
  return { ...failureOf(error), retryAfterMs: parseRetryAfter(retryAfter ?? "", wallMs) ?? undefined } as MessageResult;
}

function headersOf(message: Message, { headers = {}, secret }: HttpOptions, seconds: number): Headers {
  const sent = new Headers({ "content-type": "application/json" });
  for (const [name, value] of message.headers) {
    // Headers of HTTP are text in Latin-1.
    if (value !== null) sent.set(name, Buffer.from(value).toString("latin1"));
  }
  for (const [name, value] of Object.entries(headers)) sent.set(name, value);
  sent.set("idempotency-key", `"${message.id}"`);
  if (secret === undefined) return sent;
  const key = secret.startsWith("whsec_") ? webhookKey(secret) : Buffer.from(secret);
  const signed = webhookHeaders(key, { id: message.id, timestamp: String(seconds), body: message.body });
  for (const [name, value] of Object.entries(signed)) sent.set(name, value);
  return sent;
}
