import { signatureFault } from "@/lib/brokers/http/request-signature";
import {
  bodyOf,
  headersOf,
  type NodeRequest,
  partsOf,
  type ReceiveOptions,
  type Redrive,
  RedriveRefused,
  readOptions,
  redriveOf,
} from "@/lib/kit/inbox/receive-redrive";
import { elementsOf, isArrayAt, skipSpace } from "@/lib/platform/plain/raw-json.pure";

/** What became of one event of a batch. A status of 200 to 299 says that it was taken. */
export type RedriveResult = {
  /** `Redrive.key`. */
  key: string;
  status: number;
  /** It had been processed before: counts as deduplicated, not as sent. */
  replayed?: boolean;
  /** Seconds, or an HTTP date, before which it is not sent again. */
  retryAfter?: string | number;
  /** Of a refusal: shown in Parkade. */
  detail?: string;
};

const JSON_LINES = "application/x-ndjson";

/**
 * Reads a batch of redrives, of a source or target whose `batch` is on, and checks its signature, which covers the key of every event.
 * Answer with `redriveResults`, one result for each: an event without one may have been taken, as far as Parkade knows. Rejects with
 * RedriveRefused, and with TypeError when something else has read the body before.
 */
export async function receiveRedrives(request: Request | NodeRequest, options: ReceiveOptions): Promise<Redrive[]> {
  const { bodyBytesMax, check, wallMs } = readOptions(options);
  const headers = headersOf(request);
  const type = /^[^;]*/
    .exec(headers.get("content-type") ?? "")![0]
    .trim()
    .toLowerCase();
  if (type !== JSON_LINES && type !== "application/cloudevents-batch+json") {
    throw notOurs(`its content type is ${type || "missing"}: give a request with one event to receiveRedrive`);
  }
  const body = await bodyOf(request, bodyBytesMax);
  if (check !== null) {
    const fault = signatureFault(check, { headers, body, nowMs: wallMs() });
    if (fault !== null) throw new RedriveRefused("not-signed", fault);
  }
  return type === JSON_LINES ? linesOf(body) : elementsIn(body);
}

/** The answer to a batch: by `new Response(answer.body, answer)`, or `response.writeHead(answer.status, answer.headers).end(answer.body)`. */
export function redriveResults(results: readonly RedriveResult[]): {
  status: number;
  headers: Record<string, string>;
  body: string;
} {
  const body = results.map((result) => `${JSON.stringify(result)}\n`).join("");
  return { status: 200, headers: { "content-type": JSON_LINES }, body };
}

function notOurs(why: string): RedriveRefused {
  return new RedriveRefused("not-a-redrive", `the request is not a batch of redrives: ${why}`);
}

function linesOf(body: Buffer): Redrive[] {
  const lines = body.toString("utf8").split("\n");
  return lines.flatMap((line, at) => (line.trim() === "" ? [] : [fromLine(line, at + 1)]));
}

type Line = { key: string; headers: [string, string][]; body?: string; bodyBase64?: string };

function fromLine(line: string, number: number): Redrive {
  const { key, headers, body, bodyBase64 = "" } = read<Line>(line, `line ${number}`);
  const named = (name: string) => headers?.findLast(([given]) => given.toLowerCase() === name)?.[1];
  const redriveId = named("x-redrive-id");
  if (typeof key !== "string" || redriveId === undefined) throw notOurs(`line ${number} has no key or x-redrive-id`);
  return redriveOf(
    { key, ...partsOf(key, named("x-redrive-from") ?? null) },
    {
      redriveId,
      attempt: named("x-redrive-attempt"),
      body: body === undefined ? Buffer.from(bodyBase64, "base64") : Buffer.from(body, "utf8"),
      contentType: named("content-type") ?? null,
      headers,
    },
  );
}

/** Each event keeps the bytes that it was sent with: a number is digit for digit. */
function elementsIn(body: Buffer): Redrive[] {
  let spans: { start: number; end: number }[];
  try {
    const start = skipSpace(body, 0);
    if (!isArrayAt(body, start)) throw notOurs("its body is not a JSON array");
    spans = elementsOf(body, start);
  } catch {
    throw notOurs("its body is not a JSON array");
  }
  return spans.map(({ start, end }, at) => fromElement(body.subarray(start, end), at));
}

type Element = Record<
  "idempotencykey" | "redriveid" | "redrivefrom" | "redriveattempt" | "httpheaders",
  string | undefined
>;

/** The names of Parkade's headers, of which a CloudEvent carries the letters and digits. */
const MARKS = {
  redriveid: "x-redrive-id",
  redriveattempt: "x-redrive-attempt",
  redrivefrom: "x-redrive-from",
  redriveeventid: "x-redrive-event-id",
  redriverevision: "x-redrive-revision",
  redriveorigin: "x-redrive-origin",
  retrycount: "x-retry-count",
  traceparent: "traceparent",
};

function fromElement(bytes: Buffer, at: number): Redrive {
  const event = read<Element & Record<string, unknown>>(bytes.toString("utf8"), `event ${at + 1}`);
  const { idempotencykey: key, redriveid: redriveId, redrivefrom, redriveattempt, httpheaders = "[]" } = event;
  if (typeof key !== "string" || typeof redriveId !== "string") {
    throw notOurs(`event ${at + 1} has no idempotencykey or redriveid`);
  }
  const marks = Object.entries(MARKS).flatMap(([attribute, header]): [string, string][] => {
    const value = event[attribute];
    return typeof value === "string" ? [[header, value]] : [];
  });
  return redriveOf(
    { key, ...partsOf(key, redrivefrom ?? null) },
    {
      redriveId,
      attempt: redriveattempt,
      body: bytes,
      contentType: "application/cloudevents+json",
      headers: [...read<[string, string][]>(httpheaders, `httpheaders of event ${at + 1}`), ...marks],
    },
  );
}

function read<T>(text: string, what: string): T {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as T;
  } catch {
    // Said below, with its place.
  }
  throw notOurs(`${what} is not JSON`);
}
