/** `JSON.rawJSON` (ES2025) prints a number as it was written; TypeScript's library does not declare it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** A number of a JSON text. `JSON.stringify` prints its digits as they were written. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toString(): string {
    return this.digits;
  }

  toJSON(): unknown {
    return rawJSON(this.digits);
  }
}

/** Whether a value that `parseExact` gave is an object: no array, no number. */
export function isExactObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/**
 * As `JSON.parse`, with each number as an ExactNumber. Throws SyntaxError also when a name appears twice in one object:
 * of the two values only the last would be kept. Throws RangeError when the text is nested too deeply (2,000 levels and
 * more, by the stack that is left).
 */
export function parseExact(text: string): unknown {
  // The value that holds the whole document is passed as a member, too.
  let kept = -1;
  const value: unknown = JSON.parse(
    text,
    function (this: unknown, _name: string, value: unknown, context?: { source: string }) {
      if (!Array.isArray(this)) kept += 1;
      return typeof value === "number" ? new ExactNumber(context!.source) : value;
    },
  );
  if (kept !== namesIn(text)) throw new SyntaxError("a name appears twice in one object");
  return value;
}

/** The number of members of all objects in a valid JSON text: each has one colon outside of strings. */
function namesIn(text: string): number {
  let names = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (char === "\\") at += 1;
    else if (char === ":" && !quoted) names += 1;
  }
  return names;
}
