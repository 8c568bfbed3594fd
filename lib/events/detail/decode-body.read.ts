import { promisify } from "node:util";
import { brotliDecompress, inflateRaw, unzip, zstdDecompress } from "node:zlib";
import { type FormedBody, formOf, formWords } from "@/lib/sources/schemas/body-form.pure";

/**
 * Bytes that a body may have at each step of its decoding, which bounds what a zip bomb costs. As many as masks are applied
 * to, and as a payload has unless the settings say otherwise.
 */
export const DECODED_BYTES_MAX = 1_048_576;
const TOO_LARGE = `it has more than ${DECODED_BYTES_MAX} bytes when it is decoded`;
/** Messages have one encoding or two. */
const STEPS_MAX = 4;

export type DecodedBody = {
  /** What was undone, in the order in which it was applied: `gzip, base64, utf-16le`. Without a text: what the message names. */
  from: string;
  /** null = it was not decoded. */
  text: string | null;
  /** Of the text before its characters were decoded. */
  bytes: number;
  /** Why there is no text. */
  fault: string | null;
};

/** A step that failed, in words for a person. */
class Undecodable extends Error {}

type Step = (bytes: Uint8Array) => Promise<Buffer>;

const LIMIT = { maxOutputLength: DECODED_BYTES_MAX };
const [unzipped, inflated, unbrotli, unzstd] = [
  promisify(unzip),
  promisify(inflateRaw),
  promisify(brotliDecompress),
  promisify(zstdDecompress),
] as const;

/** Kombu calls the format of zlib gzip, and some clients send a deflated body without its frame: `unzip` tells the first two apart. */
const COMPRESSIONS: Record<string, Step> = {
  gzip: (bytes) => unzipped(bytes, LIMIT),
  deflate: (bytes) =>
    unzipped(bytes, LIMIT).catch((error: unknown) => {
      if (isTooLarge(error)) throw error;
      return inflated(bytes, LIMIT);
    }),
  br: (bytes) => unbrotli(bytes, LIMIT),
  zstd: (bytes) => unzstd(bytes, LIMIT),
};

/**
 * The text of a body that its message says is encoded; null = the body is plain, or its text is the same. The bytes that are
 * stored and sent stay what they are.
 */
export async function decodeBody(body: FormedBody): Promise<DecodedBody | null> {
  const form = formOf(body);
  const from = formWords(form);
  if (from === null || body.payload.byteLength === 0) return null;
  const undecoded = { from, text: null, bytes: body.payload.byteLength };
  try {
    const { bytes, undone } = await undoAll(body.payload, form.encodings);
    const charset = form.charset ?? ownCharset(bytes) ?? "utf-8";
    const text = textOf(bytes, charset);
    if (undone.length === 0 && text === plainText(body.payload)) return null;
    const words = formWords({ encodings: undone, charset: charset === "utf-8" ? null : charset });
    return { from: words ?? from, text, bytes: bytes.byteLength, fault: null };
  } catch (error) {
    if (!(error instanceof Undecodable)) throw error;
    return { ...undecoded, fault: error.message };
  }
}

/** Content-Encoding names the last one last; some producers name it first. */
async function undoAll(payload: Uint8Array, encodings: readonly string[]) {
  if (encodings.length > STEPS_MAX) throw new Undecodable(`at most ${STEPS_MAX} encodings are decoded`);
  try {
    return await undo(payload, encodings);
  } catch (error) {
    if (encodings.length < 2) throw error;
    return undo(payload, encodings.toReversed()).catch(() => {
      throw error;
    });
  }
}

async function undo(payload: Uint8Array, encodings: readonly string[]) {
  let bytes: Uint8Array = payload;
  const undone: string[] = [];
  for (const encoding of encodings.toReversed()) {
    if (encoding === "base64") {
      bytes = fromBase64(bytes);
      undone.unshift(encoding);
      continue;
    }
    const step = Object.hasOwn(COMPRESSIONS, encoding) ? COMPRESSIONS[encoding]! : null;
    if (step === null) throw new Undecodable(`${encoding.slice(0, 60)} is not supported`);
    // A broker that carries text alone was given the compressed bytes in base64. No compressed form begins so.
    if (isBase64(bytes)) {
      bytes = fromBase64(bytes);
      undone.unshift("base64");
    }
    bytes = await step(bytes).catch((error: unknown) => {
      throw new Undecodable(isTooLarge(error) ? TOO_LARGE : `the bytes are not ${encoding}`);
    });
    undone.unshift(encoding);
  }
  return { bytes, undone };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof RangeError && (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}

const BASE64 = /^[A-Za-z0-9+/=_\-\s]+$/;

/** Whether a body can be base64. One that is longer than what is decoded is none. */
function isBase64(bytes: Uint8Array): boolean {
  return bytes.byteLength <= 2 * DECODED_BYTES_MAX && BASE64.test(Buffer.from(bytes).toString("latin1"));
}

function fromBase64(bytes: Uint8Array): Buffer {
  if (bytes.byteLength > 2 * DECODED_BYTES_MAX) throw new Undecodable(TOO_LARGE);
  if (!isBase64(bytes)) throw new Undecodable("the bytes are not base64");
  return Buffer.from(Buffer.from(bytes).toString("latin1"), "base64");
}

/** Whether a text may be base64, in which no mask finds anything. */
export function isVeiled(text: string): boolean {
  return BASE64.test(text);
}

/** What the decoded bytes say themselves. */
function ownCharset(payload: Uint8Array): string | null {
  return formOf({ payload, contentType: "", headers: [], origin: {} }).charset;
}

function textOf(bytes: Uint8Array, charset: string): string {
  if (bytes.byteLength > DECODED_BYTES_MAX) throw new Undecodable(TOO_LARGE);
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(charset === "utf-16" ? byteOrderOf(bytes) : charset, { fatal: true });
  } catch {
    throw new Undecodable(`${charset.slice(0, 60)} is not supported`);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Undecodable(`the bytes are not text in ${charset}`);
  }
}

/** Without a mark most write the little end first; JSON and XML begin with an ASCII character, whose other byte is 0. */
function byteOrderOf([first, second]: Uint8Array): string {
  return first === 0 || (first === 0xfe && second === 0xff) ? "utf-16be" : "utf-16le";
}

function plainText(payload: Uint8Array): string | null {
  try {
    return textOf(payload, "utf-8");
  } catch {
    return null;
  }
}
