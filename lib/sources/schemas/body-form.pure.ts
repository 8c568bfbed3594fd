import { type Header, headerText, type Origin } from "@/lib/platform/plain/dead-letter.pure";

/** A body with everything of its message that says how the body is encoded. */
export type FormedBody = {
  payload: Uint8Array;
  contentType: string;
  headers: readonly Header[];
  origin: Origin;
};

export type BodyForm = {
  /** In the order in which they were applied, as in Content-Encoding: the last is undone first. Unknown names stay. */
  encodings: string[];
  /** The name of the decoder; a name that has none stays as the message has it. null = UTF-8. */
  charset: string | null;
};

/** Content-Encoding as HTTP, AMQP clients, CloudEvents and SDKs spell its name, without its separators. */
const ENCODING_NAME = /^(?:x|ce|cloudevents)?(?:data)?contentencoding$/;
/** Kombu writes `compression`. */
const COMPRESSION_NAME = /^(?:x|content|message)?compression$/;
/** Names that leave the bytes as they are. */
const PLAIN = new Set(["", "identity", "none", "binary", "7bit", "8bit"]);
const ENCODINGS = new Map(
  Object.entries({
    gzip: ["gzip", "x-gzip", "application/gzip", "application/x-gzip"],
    deflate: ["deflate", "x-deflate", "zlib", "application/zlib"],
    br: ["br", "brotli", "x-brotli", "application/x-brotli"],
    zstd: ["zstd", "zstandard", "application/zstd"],
    base64: ["base64"],
    bzip2: ["bzip2", "bz2", "x-bzip2", "application/x-bz2", "application/x-bzip2"],
    lzma: ["lzma", "xz", "application/x-lzma", "application/x-xz"],
    snappy: ["snappy", "application/x-snappy", "x-snappy-framed"],
    lz4: ["lz4", "application/x-lz4"],
    compress: ["compress", "x-compress"],
  }).flatMap(([encoding, names]) => names.map((name) => [name, encoding] as const)),
);

/** A header may be long; no message has more. */
const ENCODINGS_MAX = 8;

/** How the message declares its body as encoded; an encoding that several of its headers name counts once. */
export function formOf(body: FormedBody): BodyForm {
  const encodings = new Set<string>();
  let charset = charsetOfType(body.contentType);
  for (const word of encodingWords(body)) {
    const name = word.toLowerCase();
    if (PLAIN.has(name)) continue;
    const known = ENCODINGS.get(name);
    const decoder = known === undefined ? decoderOf(name) : null;
    // Spring and Kombu write a charset here, too, behind a compression or alone.
    if (decoder === null) encodings.add(known ?? name);
    else charset ??= decoder;
  }
  for (const header of body.headers) {
    const known = COMPRESSION_NAME.test(plainName(header[0]))
      ? ENCODINGS.get((headerText(header) ?? "").trim().toLowerCase())
      : undefined;
    if (known !== undefined) encodings.add(known);
  }
  charset ??= encodings.size === 0 ? charsetOfBytes(body) : null;
  return { encodings: [...encodings].slice(0, ENCODINGS_MAX), charset: charset === "utf-8" ? null : charset };
}

/** `gzip, utf-16le`; null = the body is plain text in UTF-8, or the message does not say. */
export function formWords({ encodings, charset }: BodyForm): string | null {
  const words = [...encodings, ...(charset === null ? [] : [charset])].map((word) => word.slice(0, WORD_CHARS_MAX));
  return words.length === 0 ? null : words.join(", ");
}

const WORD_CHARS_MAX = 60;

/** Why a body that is not JSON in UTF-8 may still be what its consumer reads; null = the message says nothing of it. */
export function whyNotPlain(body: FormedBody): string | null {
  if (body.payload.byteLength === 0) return "the body is empty";
  const words = formWords(formOf(body));
  return words === null ? null : `the message declares its body as ${words}`;
}

/** Whether a content type says that the body is JSON. */
export function isJsonType(contentType: string): boolean {
  return /^[^;]*[/+]json\s*(;|$)/i.test(contentType);
}

function encodingWords({ headers, origin }: FormedBody): string[] {
  const named = headers.flatMap((header) =>
    ENCODING_NAME.test(plainName(header[0])) ? [headerText(header) ?? ""] : [],
  );
  const texts = [...named, textOf(origin.properties?.contentEncoding), kombuEncoding(origin)];
  // Spring separates by a colon.
  return texts.flatMap((text) => text.split(/[,;:\s]+/));
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

/** A property of AMQP 0-9-1 is a text, one of AMQP 1.0 a typed value. */
function textOf(property: unknown): string {
  const { value } = (property ?? {}) as { value?: unknown };
  const text = typeof property === "string" ? property : value;
  return typeof text === "string" ? text : "";
}

/** Kombu's envelope names the charset, or `binary`. */
function kombuEncoding({ kombu }: Origin): string {
  try {
    return textOf(typeof kombu === "string" ? (JSON.parse(kombu) as { encoding?: unknown }).encoding : "");
  } catch {
    return "";
  }
}

function charsetOfType(contentType: string): string | null {
  const [, named] = /;\s*charset\s*=\s*["']?([^\s;"',]+)/i.exec(contentType) ?? [];
  return named === undefined ? null : (decoderOf(named.toLowerCase()) ?? named.toLowerCase());
}

const UTF_16 = /^utf-?16(?:-?([lb])e)?$/;

/** The decoder of a charset, by the labels of the Encoding Standard and by those of Python and Java; null = there is none. */
function decoderOf(name: string): string | null {
  const dashed = name.replaceAll("_", "-");
  if (dashed === "us-ascii" || dashed === "ascii") return "utf-8";
  const utf16 = UTF_16.exec(dashed);
  if (utf16) return utf16[1] === undefined ? "utf-16" : `utf-16${utf16[1]}e`;
  for (const label of [name, dashed, dashed.replaceAll("-", "")]) {
    try {
      return new TextDecoder(label).encoding;
    } catch {
      // Not a label: the next spelling may be one.
    }
  }
  return null;
}

/** `{`, `[` or `"`. */
function isOpening(byte: number | undefined): boolean {
  return byte === 0x7b || byte === 0x5b || byte === 0x22;
}

const XML_ENCODING = /^<\?xml[^>]{0,100}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;

/**
 * What the bytes say themselves: a byte order mark of UTF-16, the first character of JSON beside a NUL (RFC 4627, section 3),
 * or the declaration of XML.
 */
function charsetOfBytes({ payload, contentType }: Pick<FormedBody, "payload" | "contentType">): string | null {
  const [first, second] = payload;
  const isJson = isJsonType(contentType);
  if ((first === 0xff && second === 0xfe) || (isJson && isOpening(first) && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (isJson && first === 0 && isOpening(second))) return "utf-16be";
  if (first !== 0x3c) return null;
  const [, named] = XML_ENCODING.exec(String.fromCharCode(...payload.subarray(0, 200))) ?? [];
  return named === undefined ? null : decoderOf(named.toLowerCase());
}
