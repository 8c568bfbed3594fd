import { isDigit } from "./words.pure";

/** Dates, times, durations, sizes, amounts and other values that begin with a digit, a sign or the name of a day. */

const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]{0,6}\\.?";
const CLOCK = "[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?[AaPp]\\.?[Mm]\\b\\.?)?";
const ZONE =
  "(?: ?(?:GMT|UTC|UT|Z|[A-Z]{1,3}[SD]?T)(?![A-Za-z]))?(?: ?[+-][0-9]{2}(?::?[0-9]{2})?(?![0-9]))?(?: (?:UTC|GMT)(?![A-Za-z]))?(?: \\([A-Za-z ]{1,60}\\))?(?:\\[[A-Za-z_/]{1,40}\\])?(?: m=[+-][0-9.]{1,24})?";
const DATE_OF_DIGITS = [
  `[0-9]{4}-[0-9]{2}-[0-9]{2}(?:(?:[Tt]|,? )${CLOCK}${ZONE})?`,
  `[0-9]{8}[Tt][0-9]{4,6}(?:[.,][0-9]{1,9})?${ZONE}`,
  `[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}(?:,? ${CLOCK}${ZONE})?`,
  `[0-9]{1,2}([./-])[0-9]{1,2}\\1[0-9]{2,4}(?:,? ${CLOCK}${ZONE})?`,
  `[0-9]{1,2}(?:st|nd|rd|th)?[ -]${MONTH}[ ,-]{1,2}[0-9]{2,4}(?:,? ${CLOCK}${ZONE})?`,
  `${CLOCK}${ZONE}`,
].join("|");
const DATE = new RegExp(`(?:${DATE_OF_DIGITS})(?![A-Za-z0-9_:]|[.][0-9])`, "y");
const NAMED_DATE = new RegExp(
  `(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?(?:[0-9]{1,2}[ -]${MONTH}[ -][0-9]{2,4} ${CLOCK}${ZONE}|${MONTH} {1,2}[0-9]{1,2}(?:st|nd|rd|th)?(?:,? ${CLOCK}${ZONE})?(?:,? [0-9]{4}(?:,? (?:at )?${CLOCK}${ZONE})?)?)(?![A-Za-z0-9])`,
  "y",
);
const ADDRESS = /[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:[:/][0-9]{1,5})?(?![A-Za-z0-9_]|[.-][A-Za-z0-9])/y;
const DURATION = /[+-]?(?:[0-9]+(?:[.,][0-9]+)?(?:ns|us|µs|μs|ms|s|m|h|d|w))+(?![A-Za-z0-9_]|[-.:/@+][A-Za-z0-9])/y;
const NUMBER = /[+-]?(?:[0-9]+(?:[.,'_][0-9]+)*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const UNIT =
  / ?(?:(milliseconds?|millis|msecs?|ms|microseconds?|µs|us|nanoseconds?|ns|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|days?|weeks?)|(bytes?|[Oo]ctets|[KMGTPkmgtp](?:i?[Bb](?:ytes)?)|[KMGkmg]iB|B))(?![A-Za-z0-9_])/y;
const PHONE = /(?:\+[0-9]{1,3}[ .-]?)?(?:\([0-9]{2,5}\)[ .-]?)[0-9][0-9 .-]{3,14}[0-9](?![A-Za-z0-9])/y;

type Value = { end: number; as: string };

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** The value that begins with the digit or sign at a position; null when it is a token that also holds letters. */
export function amountAt(text: string, at: number): Value | null {
  const plain = plainNumberEnd(text, at);
  if (plain > 0) return { end: plain, as: "<n>" };
  const next = text[digitsEnd(text, at)] ?? "";
  const date = "-/.:Ttsnr ".includes(next) ? matchEnd(DATE, text, at) : -1;
  if (date > 0) return { end: date, as: "<time>" };
  const address = next === "." ? matchEnd(ADDRESS, text, at) : -1;
  if (address > 0) return { end: address, as: "<addr>" };
  const duration = matchEnd(DURATION, text, at);
  if (duration > 0) return { end: duration, as: "<duration>" };
  const number = matchEnd(NUMBER, text, at);
  if (number < 0) return null;
  UNIT.lastIndex = number;
  const unit = UNIT.exec(text);
  if (unit !== null) return { end: UNIT.lastIndex, as: unit[1] === undefined ? "<size>" : "<duration>" };
  return isTokenPart(text, number) ? null : { end: number, as: "<n>" };
}

function digitsEnd(text: string, at: number): number {
  let end = at;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}

/** The end of digits behind which no date, unit or fraction can follow, -1 = look closer. */
function plainNumberEnd(text: string, at: number): number {
  const end = digitsEnd(text, at);
  if (end === at) return -1;
  if (end === text.length) return end;
  const next = text[end]!;
  if (')]};\n"'.includes(next)) return end;
  const after = text.charCodeAt(end + 1);
  return (next === ":" || next === ",") && (after === 32 || after === 10 || end + 1 === text.length) ? end : -1;
}

export function phoneAt(text: string, at: number): number {
  return matchEnd(PHONE, text, at);
}

/** Where the date ends that begins with the name of a day or a month, -1 when there is none. */
export function namedDateEnd(text: string, at: number): number {
  return matchEnd(NAMED_DATE, text, at);
}

const IBAN = /[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![A-Za-z0-9])/y;
export const ibanEnd = (text: string, at: number) => matchEnd(IBAN, text, at);

const PYTHON_TIME = /datetime\.(?:datetime|date|time|timedelta)\([^()]{0,120}(?:\([^()]{0,60}\)[^()]{0,60})?\)/y;
export const pythonTimeEnd = (text: string, at: number) => matchEnd(PYTHON_TIME, text, at);

function isTokenPart(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (isAlphanumeric(code) || code === 95) return true;
  // `-`, `.`, `/`, `:`, `@` and `+` belong to the token where a letter or digit follows them.
  const joins = code === 45 || code === 46 || code === 47 || code === 58 || code === 64 || code === 43;
  return joins && isAlphanumeric(text.charCodeAt(at + 1));
}

export function isAlphanumeric(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}
