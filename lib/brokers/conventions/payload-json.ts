import { clean } from "@/lib/brokers/conventions/convention";
import { digitsAt, valueAt } from "@/lib/repair/revisions/payload-pointer.shapes";

/** Largest payload that is parsed for mapping; a larger one is parked, too, without values from its payload. */
const PARSE_BYTES_MAX = 4 * 1024 * 1024;

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

  /** The parsed value at a JSON pointer (RFC 6901), for callers that read its structure and no numbers. */
  value(pointer: string): unknown {
    const document = this.document();
    return document === null ? undefined : valueAt(document.document, pointer);
  }

  /** A string, number or boolean at `pointer` as text; null for anything else. Never empty. */
  scalar(pointer: string): string | null {
    const value = this.value(pointer);
    if (typeof value === "string") return value.trim() === "" ? null : clean(value);
    if (typeof value === "boolean") return String(value);
    if (typeof value !== "number") return null;
    if (Number.isSafeInteger(value)) return String(value);
    // JSON.parse has rounded the number: its digits are read from the text.
    return digitsAt(this.bytes, pointer);
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
