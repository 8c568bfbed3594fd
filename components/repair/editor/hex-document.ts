/**
 * Bytes under edit. Immutable: each change makes a new document, and the documents before it are kept for undo. A
 * payload to edit is at most HEX_EDIT_MAX bytes, so a copy for each key costs little.
 */
export type HexDocument = {
  bytes: Uint8Array;
  /** The offset of the cursor: up to `bytes.length`, where a typed byte is added. */
  at: number;
  /** The first digit of the byte at `at`, typed and waiting for its second; null = none. */
  half: number | null;
  /** A typed byte is inserted, or it replaces the byte at the cursor. */
  inserts: boolean;
  undo: readonly Uint8Array[];
  redo: readonly Uint8Array[];
};

/** Larger payloads are shown and cannot be edited as bytes. */
export const HEX_EDIT_MAX = 1024 * 1024;
export const BYTES_PER_LINE = 16;
/** The copies for undo are at most 64 of the largest payload. */
const UNDO_MAX = 64;

export function hexDocument(bytes: Uint8Array): HexDocument {
  return { bytes, at: 0, half: null, inserts: false, undo: [], redo: [] };
}

/** What a key does to the document; null = the key is not the editor's. `page`: lines in view. */
export function pressKey(doc: HexDocument, key: string, page: number): HexDocument | null {
  const digit = /^[0-9a-f]$/i.test(key) ? Number.parseInt(key, 16) : null;
  if (digit !== null) return typeDigit(doc, digit);
  const lineStart = doc.at - (doc.at % BYTES_PER_LINE);
  switch (key) {
    case "ArrowLeft":
      return moveTo(doc, doc.at - 1);
    case "ArrowRight":
      return moveTo(doc, doc.at + 1);
    case "ArrowUp":
      return moveTo(doc, doc.at < BYTES_PER_LINE ? doc.at : doc.at - BYTES_PER_LINE);
    case "ArrowDown":
      return moveTo(doc, doc.at + BYTES_PER_LINE);
    case "PageUp":
      return moveTo(doc, doc.at - page * BYTES_PER_LINE);
    case "PageDown":
      return moveTo(doc, doc.at + page * BYTES_PER_LINE);
    case "Home":
      return moveTo(doc, lineStart);
    case "End":
      return moveTo(doc, lineStart + BYTES_PER_LINE - 1);
    case "Insert":
      return { ...doc, half: null, inserts: !doc.inserts };
    case "Delete":
      return doc.at < doc.bytes.length ? splice(doc, doc.at, 1, []) : doc;
    case "Backspace":
      if (doc.half !== null) return { ...doc, half: null };
      return doc.at > 0 ? { ...splice(doc, doc.at - 1, 1, []), at: doc.at - 1 } : doc;
    default:
      return null;
  }
}

export function moveTo(doc: HexDocument, at: number): HexDocument {
  return { ...doc, half: null, at: Math.min(Math.max(at, 0), doc.bytes.length) };
}

/** The first digit waits; the second writes the byte and moves on. */
function typeDigit(doc: HexDocument, digit: number): HexDocument {
  if (doc.half === null) return { ...doc, half: digit };
  const replaced = doc.inserts || doc.at === doc.bytes.length ? 0 : 1;
  const next = splice(doc, doc.at, replaced, [doc.half * 16 + digit]);
  return { ...next, at: doc.at + 1 };
}

/** Pasted hexadecimal digits at the cursor, inserted or over the bytes there; null when the text is something else. */
export function pasteHex(doc: HexDocument, text: string): HexDocument | null {
  const digits = text.replaceAll(/\s+/g, "");
  if (digits === "" || digits.length % 2 === 1 || !/^[0-9a-f]+$/i.test(digits)) return null;
  const bytes = digits.match(/../g)!.map((pair) => Number.parseInt(pair, 16));
  const next = splice(doc, doc.at, doc.inserts ? 0 : bytes.length, bytes);
  return { ...next, at: doc.at + bytes.length };
}

export function undo(doc: HexDocument): HexDocument {
  const bytes = doc.undo.at(-1);
  if (!bytes) return doc;
  const at = Math.min(doc.at, bytes.length);
  return { ...doc, bytes, at, half: null, undo: doc.undo.slice(0, -1), redo: [...doc.redo, doc.bytes] };
}

export function redo(doc: HexDocument): HexDocument {
  const bytes = doc.redo.at(-1);
  if (!bytes) return doc;
  const at = Math.min(doc.at, bytes.length);
  return { ...doc, bytes, at, half: null, redo: doc.redo.slice(0, -1), undo: [...doc.undo, doc.bytes] };
}

function splice(doc: HexDocument, at: number, removed: number, added: readonly number[]): HexDocument {
  const rest = doc.bytes.subarray(at + removed);
  const bytes = new Uint8Array(at + added.length + rest.length);
  bytes.set(doc.bytes.subarray(0, at));
  bytes.set(added, at);
  bytes.set(rest, at + added.length);
  return { ...doc, bytes, half: null, undo: [...doc.undo, doc.bytes].slice(-UNDO_MAX), redo: [] };
}

/** An offset as typed: decimal, or hexadecimal after `0x`; null = neither. */
export function readOffset(text: string): number | null {
  const typed = text.trim();
  if (/^0x[0-9a-f]+$/i.test(typed)) return Number.parseInt(typed, 16);
  return /^\d+$/.test(typed) ? Number(typed) : null;
}
