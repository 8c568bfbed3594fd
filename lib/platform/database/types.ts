import pg from "pg";

const TIMESTAMPTZ = 1184;
const INT8 = 20;

/**
 * Server text such as `2026-11-20 09:33:12.123456+00` to epoch milliseconds. A list has hundreds of them, so the usual
 * form, in UTC, is read by fixed positions.
 */
export function timestamptzToMs(text: string): number {
  const ms = text.length >= 22 && text.endsWith("+00") && text[10] === " " ? utcToMs(text) : Number.NaN;
  return Number.isNaN(ms) ? anyToMs(text) : ms;
}

/** The same as ISO 8601 with milliseconds, which is the usual form but for two letters. */
export function timestamptzToIso(text: string): string {
  if (!text.endsWith("+00") || text[10] !== " " || (text[19] !== "." && text.length !== 22)) {
    return new Date(timestamptzToMs(text)).toISOString();
  }
  const fraction = text.length === 22 ? "000" : text.slice(20, Math.min(23, text.length - 3)).padEnd(3, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}

function utcToMs(text: string): number {
  const at = (from: number) => (text.charCodeAt(from) - 48) * 10 + text.charCodeAt(from + 1) - 48;
  const seconds = Date.UTC(at(0) * 100 + at(2), at(5) - 1, at(8), at(11), at(14), at(17));
  if (text[19] !== ".") return text.length === 22 ? seconds : Number.NaN;
  return seconds + Math.floor(Number(text.slice(19, -3)) * 1_000 + 1e-6);
}

function anyToMs(text: string): number {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  const ms = Date.parse(text.replace(" ", "T").replace(/([+-]\d\d)$/, "$1:00"));
  if (Number.isNaN(ms)) throw new RangeError(`not a timestamptz this store writes: ${text}`);
  return ms;
}

function int8ToNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** What the text of a column becomes, see `db.ts`. */
function typesWith(timestamptz: (text: string) => unknown): pg.CustomTypesConfig {
  return {
    getTypeParser: (oid: number, format?: "text" | "binary") => {
      if (oid === TIMESTAMPTZ && format !== "binary") return timestamptz;
      if (oid === INT8 && format !== "binary") return int8ToNumber;
      return pg.types.getTypeParser(oid, format);
    },
  };
}

export const types = typesWith(timestamptzToMs);
/** Times as ISO 8601 text. */
export const isoTypes = typesWith(timestamptzToIso);
