/** A payload as editable text, with what the text alone does not say about its bytes. */
export type ExactText = {
  /** Without the byte order mark. */
  text: string;
  /** The payload begins with the UTF-8 byte order mark. */
  mark: boolean;
  /**
   * Where the editor breaks lines. CRLF only if every line break of the text is CRLF: a CR that stands elsewhere is then
   * a character of its line, and is kept.
   */
  separator: "\n" | "\r\n";
  /** Some line breaks are CRLF, or a CR stands alone. */
  mixed: boolean;
};

const MARK = "\uFEFF";

/** The text of the bytes, from which `exactBytes` makes the same bytes again; null when they are not valid UTF-8. */
export function exactText(bytes: Uint8Array): ExactText | null {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
  const mark = text.startsWith(MARK);
  if (mark) text = text.slice(1);
  const carriage = text.includes("\r");
  const uniform = carriage && !/\r(?!\n)|(?<!\r)\n/.test(text);
  return { text, mark, separator: uniform ? "\r\n" : "\n", mixed: carriage && !uniform };
}

export function exactBytes({ text, mark }: Pick<ExactText, "text" | "mark">): Uint8Array {
  return new TextEncoder().encode(mark ? MARK + text : text);
}

/** Base64 of bytes of any number: `String.fromCharCode(...bytes)` would overflow the stack. */
export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  }
  return btoa(parts.join(""));
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
