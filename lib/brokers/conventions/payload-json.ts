import { clean } from "@/lib/brokers/conventions/convention";
import { elementsOf, endOfValue, isObjectAt, membersOf, skipSpace } from "@/lib/contract/raw-json";

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Largest payload that is parsed for mapping; a larger one is parked, too, without values from its payload. */
const PARSE_BYTES_MAX = 4 * 1024 * 1024;

function keysOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** JSON Pointer (RFC 6901) into a parsed document; undefined when it leads nowhere. */
function walk(document: unknown, pointer: string): unknown {
  let at = document;
  for (const key of keysOf(pointer)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** A payload that is parsed as JSON at its first use. Numbers keep all their digits. */
export class PayloadJson {
  private readonly bytes: Buffer;
  private parsed: { document: unknown } | null | undefined;

  constructor(payload: Uint8Array) {
    this.bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  }

  private text(): string {
    return this.bytes.toString("utf8").replace(/^\uFEFF/, "");
  }

  private document(): { document: unknown } | null {
    if (this.parsed === undefined) {
      const first = this.bytes
        .subarray(0, 64)
        .toString("latin1")
        .replace(/^\u00EF\u00BB\u00BF/, "")
        .trimStart()[0];
      // A pointer leads into objects and arrays alone; this also skips compressed and binary bodies without parsing them.
      const worthIt = (first === "{" || first === "[") && this.bytes.length <= PARSE_BYTES_MAX;
      this.parsed = worthIt ? attempt(() => JSON.parse(this.text())) : null;
    }
    return this.parsed;
  }

  /** Whether the payload is a JSON object or array. */
  get isDocument(): boolean {
    return this.document() !== null;
  }

  /** The parsed value, for callers that read its structure and no numbers. */
  value(pointer: string): unknown {
    const document = this.document();
    return document === null ? undefined : walk(document.document, pointer);
  }

  /** A string, number or boolean at `pointer` as text; null for anything else. Never empty. */
  scalar(pointer: string): string | null {
    const value = this.value(pointer);
    if (typeof value === "string") return value.trim() === "" ? null : clean(value);
    if (typeof value === "boolean") return String(value);
    if (typeof value !== "number") return null;
    if (Number.isSafeInteger(value)) return String(value);
    // JSON.parse has rounded the number: its digits are read from the text.
    return this.digits(pointer);
  }

  /** The text of the value at `pointer`, which must exist. Scans the objects and arrays that enclose it, and builds none. */
  private digits(pointer: string): string | null {
    const { bytes } = this;
    let at = skipSpace(bytes, bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0);
    for (const key of keysOf(pointer)) {
      const span = isObjectAt(bytes, at)
        ? membersOf(bytes, at, Number.POSITIVE_INFINITY)!.findLast((member) => member.key === key)
        : elementsOf(bytes, at)[Number(key)];
      if (span === undefined) return null;
      at = span.start;
    }
    return bytes.toString("latin1", at, endOfValue(bytes, at));
  }
}

/** null: not JSON. */
function attempt(parse: () => unknown): { document: unknown } | null {
  try {
    return { document: parse() };
  } catch {
    return null;
  }
}
