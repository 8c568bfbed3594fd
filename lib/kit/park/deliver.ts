import { clockFault, type Signing, signatureHeaders, webhookIdOf } from "@/lib/brokers/http/request-signature";
import type { ParkEvent } from "@/lib/kit/park/event";
import { problemOf } from "@/lib/kit/problem";
import { parseRetryAfter } from "@/lib/retry/retry-after";

export type Delivery =
  | { kind: "stored" }
  /** Parkade will never take this event as it is. `byGateway`: something before Parkade says so. */
  | { kind: "refused"; code: string; detail: string; byGateway?: boolean };

/** Parkade cannot take events now: it is down, busy, or refuses this client. */
export class ParkadeUnavailable extends Error {
  /** Parkade asked for this wait; null = it named none. */
  readonly retryAfterMs: number | null;
  /** Parkade gave this answer, and would give it again under the same Idempotency-Key. */
  readonly answered: boolean;
  /** A gateway before Parkade called each of the events too large: it is the events only when others come through it. */
  readonly tooLarge: Extract<Delivery, { kind: "refused" }> | null;

  constructor(
    text: string,
    {
      retryAfterMs = null,
      cause,
      answered = false,
      tooLarge = null,
    }: {
      retryAfterMs?: number | null;
      cause?: unknown;
      answered?: boolean;
      tooLarge?: ParkadeUnavailable["tooLarge"];
    } = {},
  ) {
    super(text, { cause });
    this.name = "ParkadeUnavailable";
    this.retryAfterMs = retryAfterMs;
    this.answered = answered;
    this.tooLarge = tooLarge;
  }
}

type Rejected = { index: number; code: string; detail: string };

export type DeliverOptions = {
  url: URL;
  token: string | null;
  signing: Signing | null;
  keySalt: string;
  fetch: typeof fetch;
  wallMs: () => number;
  signal: AbortSignal;
};

/** Resolves with a result per event; a request refused as a whole is split. Rejects with ParkadeUnavailable: some may be stored then. */
export async function deliver(events: readonly ParkEvent[], options: DeliverOptions): Promise<Delivery[]> {
  const results = await deliverParts(events, options);
  const byGateway = results.find((result) => result.kind === "refused" && result.byGateway);
  if (byGateway?.kind === "refused" && results.every((result) => result.kind === "refused" && result.byGateway)) {
    throw new ParkadeUnavailable(byGateway.detail, { tooLarge: byGateway });
  }
  return results;
}

async function deliverParts(events: readonly ParkEvent[], options: DeliverOptions): Promise<Delivery[]> {
  const answer = await post(events, options);
  if (answer.kind === "taken") return resultsOf(events.length, answer.rejected);
  if (events.length === 1) return [answer];
  const half = Math.ceil(events.length / 2);
  return [
    ...(await deliverParts(events.slice(0, half), options)),
    ...(await deliverParts(events.slice(half), options)),
  ];
}

function resultsOf(count: number, rejected: readonly Rejected[]): Delivery[] {
  const results = Array.from({ length: count }, (): Delivery => ({ kind: "stored" }));
  for (const { index, code, detail } of rejected) {
    // The source may still be made: its events wait.
    if (code === "unknown-source") throw new ParkadeUnavailable(detail, { answered: true });
    results[index] = { kind: "refused", code, detail };
  }
  return results;
}

type Answer = { kind: "taken"; rejected: Rejected[] } | Extract<Delivery, { kind: "refused" }>;

/** The statuses of a request that no repeat makes acceptable. Others may pass: 401 after a new token, 404 after a deploy. */
const REFUSED = new Set([400, 413, 415, 422]);

async function post(
  events: readonly ParkEvent[],
  { url, token, signing, keySalt, fetch, wallMs, signal }: DeliverOptions,
): Promise<Answer> {
  const sent = `{"events":[${events.map(({ line }) => line).join(",")}]}`;
  // Of each try anew: a signature counts for five minutes.
  const signed = signing && signatureHeaders(signing, { id: webhookIdOf(sent), atMs: wallMs(), body: sent });
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        // The same for the same events, whichever process sends them: each line has the time of its failure.
        "idempotency-key": `"${webhookIdOf(sent, keySalt)}"`,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...signed,
      },
      body: sent,
      redirect: "error",
      signal,
    });
    text = await response.text();
  } catch (cause) {
    throw new ParkadeUnavailable(`no answer from ${url.origin}`, { cause });
  }
  const rejected = response.ok ? rejectedOf(text) : null;
  if (rejected !== null) return { kind: "taken", rejected };
  const { status, headers } = response;
  const problem = problemOf(text);
  const detail = problem?.detail ?? `${url.origin} answered ${status}, and not as Parkade does`;
  if (problem?.code === "idempotency-key-reused") throw new ParkadeUnavailable(detail, { answered: true });
  // A gateway before Parkade answers 400 too: such an answer says nothing about the events.
  if (problem !== null && REFUSED.has(status)) return { kind: "refused", code: problem.code, detail };
  if (status === 413) return { kind: "refused", code: "http-413", detail, byGateway: true };
  if (signed && status === 401) {
    const fault = clockFault(headers.get("date"), wallMs());
    if (fault !== null) throw new ParkadeUnavailable(`${detail}: ${fault}`);
  }
  throw new ParkadeUnavailable(detail, { retryAfterMs: parseRetryAfter(headers.get("retry-after") ?? "", wallMs()) });
}

/** null: not an answer of Parkade to parked events. */
function rejectedOf(text: string): Rejected[] | null {
  try {
    const { rejected } = JSON.parse(text) as { rejected?: Rejected[] };
    return Array.isArray(rejected) ? rejected : null;
  } catch {
    return null;
  }
}
