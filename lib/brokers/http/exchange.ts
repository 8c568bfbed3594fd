import { type Dispatcher, Pool } from "undici";
import { checkedConnector } from "@/lib/brokers/checked-connector";
import { networkCode } from "@/lib/brokers/coded-error";
import type { TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import { type OnPhase, PublishError } from "@/lib/brokers/port";
import { EXCERPT_SOURCE_MAX, excerpt, secretsOfPayload } from "@/lib/brokers/scrub";
import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { headerSecrets } from "@/lib/guard/redaction/redact-url.shapes";
import { ADDRESS_REFUSED, type AddressFilter } from "@/lib/platform/address-filter";

/** Sockets per target. The bulkhead in front of it is smaller, so no request waits for a socket. */
const CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 5_000;
/** Last resort against a peer that neither answers nor closes; the caller's signal is the real timeout. */
const SILENCE_TIMEOUT_MS = 60_000;
/** Below the 5 s after which common servers close an idle connection, so that we rarely write into a closing one. */
const KEEP_ALIVE_MS = 4_000;
const EXCERPT_CHARS_MAX = 300;
/** A larger answer is cut off: a new connection costs less than reading it. */
const BODY_BYTES_MAX = 256 * 1024;

/** Headers of an answer that ask for a wait before the next send, as raw values. */
export type Hints = { retryAfter: string | null; retryAfterMs: string | null; pushback: string | string[] | null };

/** `body`: the whole of it, where it was asked for and came whole; else null. */
type Answer = Hints & { status: number; excerpt: string; replayed: boolean; body: Buffer | null };

/** Headers that mark an answer replayed from the record of the Idempotency-Key: Stripe's spelling, and the other one. */
const REPLAYED_HEADERS = ["idempotent-replayed", "idempotency-replayed"];

function isReplayed(received: Record<string, string | string[] | undefined>): boolean {
  return REPLAYED_HEADERS.some((name) => single(received[name])?.trim().toLowerCase() === "true");
}

function single(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Headers of a hint in milliseconds: Azure and OpenAI-like services, Azure Cosmos DB, AWS. */
const DELAY_HEADERS = ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"];

export function hintsOf(received: Record<string, string | string[] | undefined>): Hints {
  const named = DELAY_HEADERS.find((name) => received[name] !== undefined);
  return {
    retryAfter: single(received["retry-after"]),
    retryAfterMs: named === undefined ? null : single(received[named]),
    // Sent by gRPC gateways; given twice it is not a number, which forbids the repeat.
    pushback: received["grpc-retry-pushback-ms"] ?? null,
  };
}

/** Readable start of an error body; binary data and markup are not shown. */
export function excerptOf(chunks: Buffer[], { headers, body }: Pick<Request, "headers" | "body">): string {
  if (chunks.length === 0) return "";
  const secrets = [...credentialsIn(headers), ...(body ? secretsOfPayload(body) : [])];
  const text = Buffer.concat(chunks).subarray(0, EXCERPT_SOURCE_MAX).toString("utf8");
  return excerpt(text, secrets, EXCERPT_CHARS_MAX);
}

function credentialsIn(headers: readonly string[]): string[] {
  return headers.flatMap((value, at) => {
    if (at % 2 === 0 || !isSecretName(headers[at - 1]!)) return [];
    const pair = /^basic\s+(\S+)$/i.exec(value)?.[1];
    const decoded = pair === undefined ? "" : Buffer.from(pair, "base64").toString("utf8");
    return [...headerSecrets(value), decoded, decoded.slice(decoded.indexOf(":") + 1)];
  });
}

export type Request = {
  pool: Pool;
  path: string;
  method: "POST" | "HEAD";
  headers: string[];
  body: Uint8Array | null;
  /** The body of a success is read, and not its status alone. */
  readsBody?: boolean;
  onPhase?: OnPhase;
};

/** Resolves with any answer. Rejects with `signal.reason`, or with PublishError: `sent` says whether a byte may have left. */
export function send(request: Request, address: string, signal: AbortSignal): Promise<Answer> {
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
  let answer: Answer = { status: 0, excerpt: "", replayed: false, body: null, ...hintsOf({}) };
  const chunks: Buffer[] = [];
  let bytes = 0;
  const kept = request.readsBody ? BODY_BYTES_MAX : EXCERPT_SOURCE_MAX;
  const answered = ({ whole }: { whole: boolean }) => {
    // Of a success nobody reads it, but of a batch.
    const said = answer.status < 300 ? "" : excerptOf(chunks, request);
    const body = whole && request.readsBody ? Buffer.concat(chunks) : null;
    settle(() => resolve({ ...answer, excerpt: said, body }));
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
        if (bytes < kept) chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= BODY_BYTES_MAX || settled) return;
        answered({ whole: false }); // the status decides
        started.abort(new Error("answer too long"));
      },
      onResponseEnd: () => {
        if (!settled) answered({ whole: true });
      },
      onResponseError: (_, error) => {
        if (settled) return;
        // The head of the answer has decided; a body that ends early changes nothing.
        if (answer.status >= 200) return answered({ whole: false });
        const sent = controller === null ? "no" : "maybe";
        const code = networkCode(error) ?? "HTTP_REQUEST_FAILED";
        const text =
          sent === "no" ? `cannot reach ${address}` : `no answer from ${address}: the request may have arrived`;
        const detail = code === ADDRESS_REFUSED ? `${text}: ${error.message}` : `${text} (${code})`;
        settle(() => reject(new PublishError(code, detail, { sent, cause: error })));
      },
    },
  );
  return promise;
}

/** Whether a failed target may have acted: server errors happen at any point of its work, all other refusals come before it. */
function mayHaveActed(status: number): boolean {
  return status === 408 || (status >= 500 && status !== 501 && status !== 503 && status !== 505);
}

export function refusal(
  { status, retryAfter, retryAfterMs, pushback, excerpt }: Answer,
  address: string,
): PublishError {
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

/** The settings that are given: Node takes one that is undefined for a wish. The server's certificate is verified in any case. */
export function tlsOptions({ ca, cert, key, servername }: TlsSettings): TlsSettings {
  return Object.fromEntries(
    Object.entries({ ca, cert, key, servername }).filter(([, value]) => value !== undefined),
  ) as TlsSettings;
}

/** `tls`: the authority and the client certificate of this target. */
export function poolFor(url: URL, addresses: AddressFilter, tls: TlsSettings = {}): Pool {
  return new Pool(url.origin, {
    connections: CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: 60_000,
    connect: checkedConnector(addresses, {
      timeout: CONNECT_TIMEOUT_MS,
      allowH2: false,
      ...tlsOptions(tls),
    }),
  });
}

/** `user:password@` of a URL as a header, which undici leaves out. */
export function basicAuthorization(url: URL): string | null {
  if (url.username === "" && url.password === "") return null;
  const plain = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // a bare % is meant as it is
    }
  };
  const pair = `${plain(url.username)}:${plain(url.password)}`;
  return `Basic ${Buffer.from(pair, "utf8").toString("base64")}`;
}

export function withAuthorization(headers: string[], authorization: string | null): string[] {
  const has = headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === "authorization");
  return has || authorization === null ? headers : [...headers, "authorization", authorization];
}
