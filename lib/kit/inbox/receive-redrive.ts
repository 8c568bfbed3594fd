import {
  type SignatureCheck,
  type Signing,
  signatureCheck,
  signatureFault,
  signingFault,
  WEBHOOK_ID,
  webhookIdOf,
} from "@/lib/brokers/http/request-signature";
import { host } from "@/lib/kit/host";
import type { Confirmation } from "@/lib/kit/inbox/confirm";
import { EVENT_VERSION_HEADER } from "@/lib/kit/outbox/message";
import { assertWhole } from "@/lib/kit/sql";
import { identityOf } from "@/lib/platform/plain/dead-letter.pure";

/** A request of node:http, also as Express hands it on: with `body` when `express.raw` has read it. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  headers: Record<string, string | string[] | undefined>;
  readableDidRead?: boolean;
  body?: unknown;
};

export type ReceiveOptions = Omit<Signing, "secret"> & {
  /** Secrets that count, as the source's `signing` has one: a new one beside the old one. null = takes unsigned requests. */
  secrets: string | readonly string[] | null;
  /** Default 16 MiB. */
  bodyBytesMax?: number;
  clock?: { wallMs(): number };
};

/** One event that Parkade sends again. */
export type Redrive = {
  source: string;
  /** As it was parked: an inbox keys by it, and a bounce is parked under it. */
  eventId: string;
  /** Within which the id is unique, as the `source` of a CloudEvent: an inbox keys by both. Absent = it is unique in the source. */
  producer?: string;
  /** 1, or another one after its bytes were mended. */
  revision: number;
  /** Of the aggregate, from the producer's header `event-version`; null = absent. */
  version: bigint | null;
  /** The Idempotency-Key, of event and revision: what remembers refusals keys by it. */
  key: string;
  redriveId: string;
  /** Within the redrive, from 1. */
  attempt: number;
  body: Buffer;
  contentType: string | null;
  /** For `parker.park` when it fails again: with those of the redrive, without those of the connection and credentials. */
  headers: [name: string, value: string][];
  /** For `confirmProcessed`. */
  confirmation(consumer: string): Confirmation;
};

export type RedriveRefusal = "not-a-redrive" | "not-signed" | "body-too-large";

const STATUS: Record<RedriveRefusal, number> = { "not-a-redrive": 400, "not-signed": 401, "body-too-large": 413 };

/** A request that is no redrive of Parkade's. Answer with `status`: Parkade sends it once, and shows the status. */
export class RedriveRefused extends Error {
  readonly code: RedriveRefusal;
  readonly status: number;

  constructor(code: RedriveRefusal, message: string) {
    super(message);
    this.name = "RedriveRefused";
    this.code = code;
    this.status = STATUS[code];
  }
}

/** Accepts a Request of fetch, node:http or Express. Rejects with RedriveRefused, and with TypeError when the body was already read. */
export async function receiveRedrive(request: Request | NodeRequest, options: ReceiveOptions): Promise<Redrive> {
  const { bodyBytesMax, check, wallMs } = readOptions(options);
  const headers = headersOf(request);
  const redriveId = headers.get("x-redrive-id");
  const field = /^"((?:[^"\\]|\\.)*)"$/.exec(headers.get("idempotency-key") ?? "")?.[1];
  if (redriveId === null || field === undefined) {
    throw new RedriveRefused("not-a-redrive", "the request has no x-redrive-id, or no quoted Idempotency-Key");
  }
  const body = await bodyOf(request, bodyBytesMax);
  const from = textOf(headers.get("x-redrive-from"));
  const names = keysOf(field).map((key) => ({ key, ...partsOf(key, from) }));
  let name = names[0]!;
  if (check !== null) {
    const fault = signatureFault(check, { headers, body, nowMs: wallMs() });
    if (fault !== null) throw new RedriveRefused("not-signed", fault);
    if (check.scheme === "standard-webhooks") {
      // The signature covers no header but this one: it binds the event to the body.
      const signed = names.find((each) => webhookIdOf(redriveId, identityOf(each)) === headers.get(WEBHOOK_ID));
      if (signed === undefined) throw new RedriveRefused("not-signed", "it was signed for another event or redrive");
      name = signed;
    }
  }
  return redriveOf(name, {
    redriveId,
    attempt: headers.get("x-redrive-attempt"),
    body,
    contentType: headers.get("content-type"),
    headers: [...headers].map(([name, value]) => [name, textOf(value)!]),
  });
}

/** Options with their defaults; `check` null = unsigned requests are taken. TypeError names the option that cannot be used. */
export function readOptions(options: ReceiveOptions): {
  bodyBytesMax: number;
  check: SignatureCheck | null;
  wallMs(): number;
} {
  const { secrets: given, bodyBytesMax = 16 * 1024 * 1024, clock = host.clock, ...form } = options;
  const secrets = typeof given === "string" ? [given] : given;
  assertWhole("bodyBytesMax", bodyBytesMax, 0);
  if (secrets?.length === 0) throw new TypeError("secrets is empty: give one, or null to accept unsigned requests");
  for (const secret of secrets ?? []) {
    const fault = signingFault({ ...form, secret });
    if (fault !== null) throw new TypeError(fault);
  }
  return { bodyBytesMax, check: secrets && signatureCheck(form, secrets), wallMs: () => clock.wallMs() };
}

/** @param attempt as it was sent */
export function redriveOf(
  name: Pick<Redrive, "key" | "source" | "eventId" | "producer" | "revision">,
  { attempt, headers, ...sent }: Pick<Redrive, "redriveId" | "body" | "contentType" | "headers"> & { attempt: unknown },
): Redrive {
  const { source, eventId, producer } = name;
  return {
    ...name,
    ...sent,
    attempt: Math.max(1, Number(attempt) || 1),
    version: versionIn(headers),
    headers: headers.filter(([header]) => !KEPT_OUT.test(header.toLowerCase())),
    confirmation: (consumer) => ({ source, ...(producer === undefined ? {} : { producer }), eventId, consumer }),
  };
}

function versionIn(headers: Redrive["headers"]): bigint | null {
  const text = headers.find(([header]) => header.toLowerCase() === EVENT_VERSION_HEADER)?.[1] ?? "";
  return /^\d{1,19}$/.test(text) ? BigInt(text) : null;
}

/**
 * Status and headers of the answer to a redrive: by `new Response(null, answer)` or `response.writeHead(answer.status,
 * answer.headers)`. Parkade counts a duplicate as deduplicated, not as sent.
 */
export function redriveAnswer(status: "processed" | "duplicate"): { status: number; headers: Record<string, string> } {
  return { status: 200, headers: status === "duplicate" ? { "idempotent-replayed": "true" } : {} };
}

/** Of the connection, of this one request, or credentials. */
const KEPT_OUT =
  /^(host|connection|content-length|content-type|transfer-encoding|keep-alive|te|upgrade|accept.*|user-agent|idempotency-key|webhook-.*|authorization|cookie|proxy-.*|forwarded|x-forwarded-.*)$/;

export function headersOf({ headers }: Request | NodeRequest): Headers {
  if (headers instanceof Headers) return headers;
  return new Headers(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name.startsWith(":") ? [] : [value].flat().map((one): [string, string] => [name, one]),
    ),
  );
}

/** HTTP carries bytes; Parkade writes UTF-8, and a server hands them on as Latin-1. */
function textOf(value: string | null): string | null {
  return value === null ? null : Buffer.from(value, "latin1").toString("utf8");
}

/** Keys that a quoted string may stand for, likelier first: as it is, or percent-encoded. */
function keysOf(field: string): string[] {
  const plain = field.replaceAll(/\\(.)/g, "$1");
  try {
    const decoded = decodeURIComponent(plain);
    return /^[\x20-\x7e]*$/.test(decoded) ? [plain] : [decoded, plain];
  } catch {
    return [plain];
  }
}

/** `<source>:<eventId>` or `<source>/<producer>:<eventId>`, with `:rN` behind it for another revision than the first. */
export function partsOf(
  key: string,
  from: string | null,
): Pick<Redrive, "source" | "producer" | "eventId" | "revision"> {
  const scope = from !== null && key.startsWith(`${from}:`) ? from : key.slice(0, Math.max(0, key.indexOf(":")));
  const [, eventId, revision] = /^([\s\S]*?)(?::r(\d{1,9}))?$/.exec(key.slice(scope.length + 1))!;
  const named = { eventId: eventId!, revision: Number(revision ?? 1) };
  const slash = scope.indexOf("/");
  if (slash === -1 || scope === from) return { source: scope, ...named };
  const producer = scope.slice(slash + 1);
  try {
    return { source: scope.slice(0, slash), producer: decodeURIComponent(producer), ...named };
  } catch {
    return { source: scope.slice(0, slash), producer, ...named };
  }
}

export async function bodyOf(request: Request | NodeRequest, bytesMax: number): Promise<Buffer> {
  const known = "arrayBuffer" in request ? undefined : request.body;
  const read = "arrayBuffer" in request ? request.bodyUsed : request.readableDidRead === true;
  if (read && !(known instanceof Uint8Array)) {
    throw new TypeError(
      "the body was read before: the signature is over its bytes. In Express use express.raw({ type: () => true }) on this route",
    );
  }
  const stream = known instanceof Uint8Array ? [known] : "arrayBuffer" in request ? (request.body ?? []) : request;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new RedriveRefused("body-too-large", `the body has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
