import { clean } from "@/lib/brokers/conventions/convention";
import { documentIn, scalarText, valueAt } from "@/lib/platform/api/payload-pointer.shapes";

/** Largest payload that is parsed for mapping; a larger one is parked, too, without values from its payload. */
const PARSE_BYTES_MAX = 4 * 1024 * 1024;

/** A payload that is parsed as JSON at its first use. Numbers keep all their digits. */
export class PayloadJson {
  private readonly payload: Uint8Array;
  private isRead = false;
  private document: unknown;

  constructor(payload: Uint8Array) {
    this.payload = payload;
  }

  /** Whether the payload is a JSON object or array. */
  get isDocument(): boolean {
    return this.value("") !== undefined;
  }

  /** The parsed value at a JSON pointer (RFC 6901), for callers that read its structure and no numbers. */
  value(pointer: string): unknown {
    if (!this.isRead) {
      this.isRead = true;
      this.document = documentIn(this.payload, PARSE_BYTES_MAX);
    }
    return valueAt(this.document, pointer);
  }

  /** A string, number or boolean at `pointer` as text; null for anything else. Never empty. */
  scalar(pointer: string): string | null {
    const text = scalarText(this.value(pointer), this.payload, pointer);
    return text === null || text.trim() === "" ? null : clean(text);
  }
}
