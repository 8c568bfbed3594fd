import { jsonFault } from "@/lib/platform/plain/json-fault.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Largest body of a request that is no ingest: 10,000 ids and their reason are below half of it. */
export const JSON_BYTES_MAX = 1024 * 1024;

/** The media type without parameters, lower case; null when the request names none. */
export function mediaTypeOf(request: Request): string | null {
  return request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() || null;
}

/** Reads a JSON body. Throws DomainError naming what is wrong with it. */
export async function readJson(request: Request, bytesMax: number): Promise<unknown> {
  const body = await readOptionalJson(request, bytesMax);
  if (body === undefined) throw new DomainError("invalid-json", "The body is empty: send JSON");
  return body;
}

/**
 * As `readJson`, undefined for an empty body. Whether there is one cannot be seen before it is read: Next gives a request
 * without a body an empty stream.
 */
export async function readOptionalJson(request: Request, bytesMax: number): Promise<unknown> {
  const type = mediaTypeOf(request);
  if (type !== null && type !== "application/json" && !type.endsWith("+json")) {
    throw new DomainError("unsupported-media-type", `${type} is not supported: send application/json`, {
      fields: [{ field: "content-type", detail: "must be application/json" }],
    });
  }
  const sent = await readBody(request, bytesMax);
  sent.release();
  const text = decodeUtf8(sent.bytes);
  if (text === "") return undefined;
  const body = parseJson(text);
  const fault = jsonFault(body);
  if (fault === null) return body;
  throw new DomainError("invalid-request", `${fault.field || "The body"} ${fault.detail}`, { fields: [fault] });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DomainError("invalid-json", "The body is not JSON", { internal: error });
  }
}

/** For a route whose query string says everything: a body is refused, since a condition in it would not restrict. */
export async function refuseBody(request: Request): Promise<void> {
  for await (const chunk of request.body ?? []) {
    if (chunk.byteLength === 0) continue;
    throw new DomainError("invalid-request", "This endpoint accepts no body: put every condition in the query string");
  }
}

/** Bodies that wait for the store add up to at most this: two of the largest, within the memory of a small container. */
const HELD_BYTES_MAX = 136 * 1024 * 1024;
/** Smaller ones are not counted: they are never refused because of large ones. */
const SMALL_BYTES = 1024 * 1024;
let heldBytes = 0;

export type HeldBody = {
  bytes: Buffer;
  /** Call it once nothing reads `bytes` any more. */
  release(): void;
};

/**
 * The whole body; its bytes count as held until they are released. Throws DomainError `payload-too-large` as soon as it
 * exceeds `bytesMax`, and `too-busy` when all bodies together would take more memory than there is for them: the part of
 * this one that has come is dropped, and the sender repeats it.
 * `hold` counts the same bytes for the client; what it throws is thrown.
 */
export async function readBody(
  request: Request,
  bytesMax: number,
  hold: (bytes: number, ofThisRequest: number) => void = () => {},
): Promise<HeldBody> {
  const tooLarge = () => new DomainError("payload-too-large", `The body is larger than ${bytesMax} bytes`);
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > bytesMax) throw tooLarge();
  // Of one length that is known there is one copy: its memory is taken when the bytes come, not when they are announced.
  const whole = declared > SMALL_BYTES ? Buffer.allocUnsafeSlow(declared) : null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let held = 0;
  const release = () => {
    if (held > 0) hold(-held, held);
    heldBytes -= held;
    held = 0;
  };
  try {
    for await (const chunk of request.body ?? []) {
      const at = bytes;
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge();
      if (bytes > SMALL_BYTES) {
        hold(bytes - held, held);
        heldBytes += bytes - held;
        held = bytes;
        if (heldBytes > HELD_BYTES_MAX) throw tooBusy();
      }
      if (whole === null) chunks.push(chunk);
      else if (bytes > whole.length) throw tooLarge();
      else whole.set(chunk, at);
    }
    return { bytes: whole?.subarray(0, bytes) ?? Buffer.concat(chunks), release };
  } catch (error) {
    release();
    throw error;
  }
}

function tooBusy(): DomainError {
  return new DomainError(
    "too-busy",
    "Other large requests are being stored: send this one again, or stream it as NDJSON",
  );
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Throws DomainError `invalid-utf8`: a replaced character would be a changed one. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw new DomainError("invalid-utf8", "The body is not valid UTF-8", { internal: error });
  }
}
