import { isLosslessNumber, parse as parseLossless } from "lossless-json";
import { clean } from "@/lib/brokers/conventions/delivery";

/** Largest payload that is parsed for mapping; a bigger one is parked all the same, without values from inside. */
const PARSE_BYTES_MAX = 4 * 1024 * 1024;

/** JSON Pointer (RFC 6901) into a parsed document; undefined when it leads nowhere. */
function walk(document: unknown, pointer: string): unknown {
  let at = document;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || isLosslessNumber(at) || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** A payload read as JSON, when first asked. Numbers come out with all their digits. */
export class PayloadJson {
  private readonly bytes: Buffer;
  private parsed: { document: unknown } | null | undefined;
  private exact: { document: unknown } | null | undefined;

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
      // Only objects and arrays have something to point into; this also skips compressed and binary bodies cheaply.
      const worthIt = (first === "{" || first === "[") && this.bytes.length <= PARSE_BYTES_MAX;
      this.parsed = worthIt ? attempt(() => JSON.parse(this.text())) : null;
    }
    return this.parsed;
  }

  /** Whether the payload is a JSON object or array. */
  get isDocument(): boolean {
    return this.document() !== null;
  }

  /** The raw parsed value, for callers that look at structure, not at numbers. */
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
    // JSON.parse has rounded it. The slow, exact parser runs only for such numbers.
    if (this.exact === undefined) this.exact = attempt(() => parseLossless(this.text()));
    const number = this.exact === null ? undefined : walk(this.exact.document, pointer);
    return isLosslessNumber(number) ? number.value : null;
  }
}

/** null: not JSON, nested too deep, or (exact parser) a key that repeats with another value. */
function attempt(parse: () => unknown): { document: unknown } | null {
  try {
    return { document: parse() };
  } catch {
    return null;
  }
}
