import { type Dispatcher, Pool } from "undici";
import { checkedConnector } from "@/lib/brokers/checked-connector";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { requestOf } from "@/lib/brokers/http/request";
import { headerSecrets, redactUrl } from "@/lib/brokers/kinds/redact-url.shapes";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { EXCERPT_SOURCE_MAX, excerpt, secretsOfPayload } from "@/lib/brokers/scrub";
import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { ADDRESS_REFUSED, type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

/** Sockets per target. The bulkhead in front of it is smaller, so no request waits for a socket. */
const CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 5_000;
/** Last resort against a peer that neither answers nor closes; the caller's signal is the real timeout. */
const SILENCE_TIMEOUT_MS = 60_000;
/** Below the 5 s after which common servers close an idle connection, so that we rarely write into a closing one. */
const KEEP_ALIVE_MS = 4_000;
/** Characters of an answer's body that are kept for the error text. */
const EXCERPT_CHARS_MAX = 300;
/** A larger answer is cut off: a new connection costs less than reading it. */
const BODY_BYTES_MAX = 256 * 1024;

/** Codes of undici by the names of the system errors they stand for. */
const CODES: Record<string, string> = {
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_HEADERS_TIMEOUT: "ETIMEDOUT",
  UND_ERR_BODY_TIMEOUT: "ETIMEDOUT",
  UND_ERR_SOCKET: "ECONNRESET",
};

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && code !== "") return Object.hasOwn(CODES, code) ? CODES[code]! : code;
  // A host with several addresses fails with one error for each.
  const first = error instanceof AggregateError ? error.errors[0] : error.cause;
  return first instanceof Error ? codeOf(first) : "HTTP_REQUEST_FAILED";
}

/** Headers of an answer that ask for a wait before the next send, as raw values. */
type Hints = { retryAfter: string | null; retryAfterMs: string | null; pushback: string | string[] | null };

type Answer = Hints & { status: number; excerpt: string; replayed: boolean };

/**
 * Headers by which a service says that it answers from its record of the Idempotency-Key: Stripe and those who follow it,
 * and the spelling of others.
 */
const REPLAYED_HEADERS = ["idempotent-replayed", "idempotency-replayed"];

function isReplayed(received: Record<string, string | string[] | undefined>): boolean {
  return REPLAYED_HEADERS.some((name) => single(received[name])?.trim().toLowerCase() === "true");
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Headers of a hint in milliseconds: Azure and OpenAI-like services, Azure Cosmos DB, AWS. */
const DELAY_HEADERS = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];

function hintsOf(received: Record<string, string | string[] | undefined>): Hints {
  const named = DELAY_HEADERS.find((name) => received[name] !== undefined);
  return {
    retryAfter: single(received["retry-after"]),
    retryAfterMs: named === undefined ? null : single(received[named]),
    // Sent by gRPC gateways; given twice it is not a number, which forbids the repeat.
    pushback: received["grpc-retry-pushback-ms"] ?? null,
  };
}

/** Readable start of an error body; binary data and markup are not shown. */
function excerptOf(chunks: Buffer[], { headers, body }: Pick<Request, "headers" | "body">): string {
  if (chunks.length === 0) return "";
  const secrets = [...credentialsIn(headers), ...(body ? secretsOfPayload(body) : [])];
  const text = Buffer.concat(chunks).subarray(0, EXCERPT_SOURCE_MAX).toString("utf8");
  return excerpt(text, secrets, EXCERPT_CHARS_MAX);
}

/** Values of the headers of a request whose names say that they are credentials. */
function credentialsIn(headers: readonly string[]): string[] {
  return headers.flatMap((value, at) => {
    if (at % 2 === 0 || !isSecretName(headers[at - 1]!)) return [];
    const pair = /^basic\s+(\S+)$/i.exec(value)?.[1];
    const decoded = pair === undefined ? "" : Buffer.from(pair, "base64").toString("utf8");
    return [...headerSecrets(value), decoded, decoded.slice(decoded.indexOf(":") + 1)];
  });
}

type Request = {
  pool: Pool;
  path: string;
  method: "POST" | "HEAD";
  headers: string[];
  body: Uint8Array | null;
  onPhase?: OnPhase;
};

/**
 * One request. Resolves with any answer; rejects with PublishError whose `sent` says whether a byte of it may have
 * left, or with `signal.reason`.
 */
function send(request: Request, address: string, signal: AbortSignal): Promise<Answer> {
  const { pool, path, method, headers, body, onPhase } = request;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let controller: Dispatcher.DispatchController | null = null;
  let settled = false;
  const settle = (outcome: () => void) => {
    settled = true;
    signal.removeEventListener("abort", aborted);
    outcome();
  };
  const aborted = () => {
    settle(() => reject(signal.reason));
    controller?.abort(new Error("given up"));
  };
  let answer: Answer = { status: 0, excerpt: "", replayed: false, ...hintsOf({}) };
  const chunks: Buffer[] = [];
  let bytes = 0;
  const answered = () => {
    // Of a success nobody reads it.
    const said = answer.status < 300 ? "" : excerptOf(chunks, request);
    settle(() => resolve({ ...answer, excerpt: said }));
  };
  if (signal.aborted) return Promise.reject(signal.reason);
  signal.addEventListener("abort", aborted, { once: true });
  pool.dispatch(
    { path, method, headers, body, headersTimeout: SILENCE_TIMEOUT_MS, bodyTimeout: SILENCE_TIMEOUT_MS },
    {
      // Called when a connected socket is about to carry the request: no byte was sent before.
      onRequestStart: (started) => {
        controller = started;
        if (settled) started.abort(new Error("given up"));
        else onPhase?.("connected");
      },
      onResponseStart: (_, status, received) => {
        if (!settled && answer.status === 0) onPhase?.("answering");
        answer = { ...answer, status, replayed: isReplayed(received), ...hintsOf(received) };
      },
      onResponseData: (started, chunk) => {
        if (bytes < EXCERPT_SOURCE_MAX) chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= BODY_BYTES_MAX || settled) return;
        answered(); // the status decides
        started.abort(new Error("answer too long"));
      },
      onResponseEnd: () => {
        if (!settled) answered();
      },
      onResponseError: (_, error) => {
        if (settled) return;
        // The head of the answer has decided; a body that ends early changes nothing.
        if (answer.status >= 200) return answered();
        const sent = controller === null ? "no" : "maybe";
        const code = codeOf(error);
        const text =
          sent === "no" ? `cannot reach ${address}` : `no answer from ${address}: the request may have arrived`;
        const detail = code === ADDRESS_REFUSED ? `${text}: ${error.message}` : `${text} (${code})`;
        settle(() => reject(new PublishError(code, detail, { sent, cause: error })));
      },
    },
  );
  return promise;
}

/**
 * Whether the target may have acted although it answered with a failure: server errors happen at any point of the
 * work. Everything else is an answer given before it: refused, throttled, elsewhere.
 */
function mayHaveActed(status: number): boolean {
  return status === 408 || (status >= 500 && status !== 501 && status !== 503 && status !== 505);
}

function refusal({ status, retryAfter, retryAfterMs, pushback, excerpt }: Answer, address: string): PublishError {
  const excerptText = excerpt === "" ? "" : `: ${excerpt}`;
  const redirect = status >= 300 && status < 400 ? " (redirects are not followed: configure the final address)" : "";
  return new PublishError(`HTTP_${status}`, `${address} answered ${status}${redirect}${excerptText}`, {
    status,
    sent: mayHaveActed(status) ? "maybe" : "no",
    retryAfter,
    retryAfterMs,
    pushback,
  });
}

function poolFor(url: URL, addresses: AddressFilter): Pool {
  return new Pool(url.origin, {
    connections: CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: 60_000,
    connect: checkedConnector(addresses, { timeout: CONNECT_TIMEOUT_MS, allowH2: false }),
  });
}

/** `user:password@` of a URL as a header, which undici leaves out. */
function basicAuthorization(url: URL): string[] {
  if (url.username === "" && url.password === "") return [];
  const plain = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a bare % is meant as it is
    }
  };
  const pair = `${plain(url.username)}:${plain(url.password)}`;
  return ["authorization", `Basic ${Buffer.from(pair, "utf8").toString("base64")}`];
}

function withAuthorization(headers: string[], authorization: string[]): string[] {
  const has = headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === "authorization");
  return has ? headers : [...headers, ...authorization];
}

export type HttpPublisherDeps = Pick<AdapterDeps, "clock" | "addresses">;

/** Posts to one URL over kept-alive HTTP/1.1 connections. */
export class HttpPublisher implements Publisher {
  private readonly config: HttpConfig;
  private readonly deps: HttpPublisherDeps;
  private readonly url: URL | null;
  private readonly address: string;
  private readonly path: string;
  private readonly authorization: string[];
  private readonly pool: Pool | null;

  constructor(config: HttpConfig, lane: "main" | "slow", deps: HttpPublisherDeps) {
    const address = (lane === "slow" ? config.slowLaneUrl : undefined) ?? config.redriveUrl;
    this.config = config;
    this.deps = deps;
    this.url = address === undefined ? null : new URL(address);
    this.address = address === undefined ? "" : redactUrl(address);
    this.path = this.url === null ? "/" : this.url.pathname + this.url.search;
    this.authorization = this.url === null ? [] : basicAuthorization(this.url);
    this.pool = this.url === null ? null : poolFor(this.url, deps.addresses ?? DEFAULT_ADDRESSES);
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    if (this.pool === null) throw new PublishError("HTTP_NO_TARGET", "the source has no redriveUrl", { sent: "no" });
    const formed = requestOf(message, this.config, this.deps.clock.wallMs());
    const headers = withAuthorization(formed.headers, this.authorization);
    const { pool, path } = this;
    const request: Request = { pool, path, method: "POST", headers, body: formed.body, onPhase };
    const answer = await send(request, this.address, signal);
    if (answer.status >= 200 && answer.status < 300) {
      return { status: `HTTP ${answer.status}`, ...(answer.replayed ? { deduplicated: true } : {}) };
    }
    throw refusal(answer, this.address);
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    if (this.url === null) return { reachable: false, detail: "the source has no redriveUrl" };
    return probeUrl(this.url.href, this.config, this.deps, signal);
  }

  async close(): Promise<void> {
    if (this.pool !== null && !this.pool.closed && !this.pool.destroyed) await this.pool.close();
  }
}

/** How long a probe waits for any answer. */
const PROBE_TIMEOUT_MS = 5_000;

/**
 * Asks with HEAD, which changes nothing at a well-behaved target. Any HTTP answer means reachable: 404 and 405 are
 * usual for an address that only takes POST.
 */
export async function probeUrl(
  target: string,
  config: HttpConfig,
  { clock, addresses = DEFAULT_ADDRESSES }: HttpPublisherDeps,
  signal: AbortSignal,
): Promise<ProbeResult> {
  signal.throwIfAborted();
  const url = new URL(target);
  const address = redactUrl(target);
  const pool = poolFor(url, addresses);
  const late = new AbortController();
  const stopTimer = clock.timer(PROBE_TIMEOUT_MS, () => late.abort(new Error("probe timeout")));
  const fixed = Object.entries(config.headers ?? {}).flat();
  try {
    const headers = withAuthorization(fixed, basicAuthorization(url));
    const request: Request = { pool, path: url.pathname + url.search, method: "HEAD", headers, body: null };
    const { status } = await send(request, address, AbortSignal.any([signal, late.signal]));
    return { reachable: true, detail: `${address} answered ${status} to HEAD`, depth: null, sample: [] };
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted)
      return { reachable: false, detail: `no answer from ${address} in ${PROBE_TIMEOUT_MS / 1000} s` };
    return { reachable: false, detail: error instanceof Error ? error.message : String(error) };
  } finally {
    stopTimer();
    await pool.destroy();
  }
}
