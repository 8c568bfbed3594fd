import { clockFault, type Signing, signatureHeaders, webhookIdOf } from "@/lib/brokers/http/request-signature";
import type { ParkEvent } from "@/lib/kit/park/event";
import { parseRetryAfter } from "@/lib/retry/retry-after";

export type Delivery =
  | { kind: "stored" }
  /** Parkade will never take this event as it is. */
  | { kind: "refused"; code: string; detail: string };

/** Parkade cannot take events now: it is down, busy, or refuses this client. */
export class ParkadeUnavailable extends Error {
  /** Parkade asked for this wait; null = it named none. */
  readonly retryAfterMs: number | null;

  constructor(text: string, retryAfterMs: number | null = null, cause?: unknown) {
    super(text, { cause });
    this.name = "ParkadeUnavailable";
    this.retryAfterMs = retryAfterMs;
  }
}

type Rejected = { index: number; code: string; detail: string };

export type DeliverOptions = {
  url: URL;
  token: string | null;
  signing: Signing | null;
  fetch: typeof fetch;
  wallMs: () => number;
  signal: AbortSignal;
};

/**
 * Sends events in one request, in smaller ones when it is refused as a whole. Resolves with a result for each event, in
 * their order. Rejects with ParkadeUnavailable; some of the events may have been stored then.
 */
export async function deliver(events: readonly ParkEvent[], options: DeliverOptions): Promise<Delivery[]> {
  const answer = await post(events, options);
  if (answer.ok) return resultsOf(events.length, answer.rejected);
  if (events.length === 1) return [{ kind: "refused", code: answer.code, detail: answer.detail }];
  const half = Math.ceil(events.length / 2);
  return [...(await deliver(events.slice(0, half), options)), ...(await deliver(events.slice(half), options))];
}

function resultsOf(count: number, rejected: readonly Rejected[]): Delivery[] {
  const results = Array.from({ length: count }, (): Delivery => ({ kind: "stored" }));
  for (const { index, code, detail } of rejected) {
    // The source may still be made: its events wait.
    if (code === "unknown-source") throw new ParkadeUnavailable(detail);
    results[index] = { kind: "refused", code, detail };
  }
  return results;
}

type Answer = { ok: true; rejected: Rejected[] } | { ok: false; code: string; detail: string };

/** The statuses of a request that no repeat makes acceptable. Others may pass: 401 after a new token, 404 after a deploy. */
const REFUSED = new Set([400, 413, 415, 422]);

async function post(
  events: readonly ParkEvent[],
  { url, token, signing, fetch, wallMs, signal }: DeliverOptions,
): Promise<Answer> {
  const sent = `{"events":[${events.map(({ line }) => line).join(",")}]}`;
  // Of each try anew: a signature counts for five minutes.
  const signed = signing && signatureHeaders(signing, { id: webhookIdOf(sent), atMs: wallMs(), body: sent });
  let response: Response;
  let body: { rejected?: Rejected[]; code?: string; detail?: string } | null;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...signed,
      },
      body: sent,
      redirect: "error",
      signal,
    });
    const text = await response.text();
    body = /json/.test(response.headers.get("content-type") ?? "") ? JSON.parse(text) : null;
  } catch (error) {
    throw new ParkadeUnavailable(`no answer from ${url.origin}`, null, error);
  }
  if (response.ok && Array.isArray(body?.rejected)) return { ok: true, rejected: body.rejected };
  const detail = body?.detail ?? `${url.origin} answered ${response.status}`;
  if (REFUSED.has(response.status)) return { ok: false, code: body?.code ?? `http-${response.status}`, detail };
  if (signed && response.status === 401) {
    const fault = clockFault(response.headers.get("date"), wallMs());
    if (fault !== null) throw new ParkadeUnavailable(`${detail}: ${fault}`);
  }
  throw new ParkadeUnavailable(detail, parseRetryAfter(response.headers.get("retry-after") ?? "", wallMs()));
}
