import type { Header, Origin } from "@/lib/intake/dead-letter.pure";

/** Words that mark the value under a name as a credential. */
const SECRET_WORDS = new Set(
  `authorization authorisation authentication auth token secret password passwd pwd pass passphrase passcode signature sig
   jwt bearer session sessionid jsessionid phpsessid sid cookie credential credentials apikey accesskey sas sastoken otp
   csrf xsrf`.split(/\s+/),
);
/**
 * With one of these words before it, `key` is a credential; `idempotency-key`, `routing-key` and `partitionkey` are
 * not.
 */
const KEY_WORDS = new Set(
  "api access function functions subscription private account shared client master host signing encryption secret service app application admin".split(
    " ",
  ),
);
/** The same words joined into one, as in `accesstoken` or `x-authtoken`. */
const SECRET_ENDING =
  /(?:authorization|accesstoken|authtoken|idtoken|refreshtoken|sessiontoken|apitoken|cookie|password|secret|apikey|sessionid)$/;

/** Splits `x-functions-key`, `accessToken` and `API_KEY` into words in lower case. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** True for a name of a header, a property or a URL parameter whose value is a credential. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name.slice(0, 200));
  return words.some(
    (word, index) =>
      SECRET_WORDS.has(word) ||
      SECRET_ENDING.test(word) ||
      ((word === "key" || word === "keys") && index > 0 && KEY_WORDS.has(words[index - 1]!)),
  );
}

/** Bullets replace the value: they show that there is a value, but neither the value nor its length. */
export const REDACTED = "\u2022\u2022\u2022\u2022\u2022\u2022";

/** Header names that carry a credential. Stored and sent as they are, but not shown. */
export function isSecretHeader(name: string): boolean {
  return isSecretName(name);
}

/** The headers as they may be shown, in their order. */
export function redactHeaders(headers: readonly Header[]): Header[] {
  return headers.map((header) => {
    const [name, value] = header;
    return value !== null && isSecretHeader(name) ? [name, REDACTED] : header;
  });
}

/** Levels of an origin that are searched; nothing below them is shown. Brokers nest two or three levels. */
const DEPTH_MAX = 20;

/** The origin of an event without credentials: broker properties and headers can hold them. */
export function redactOrigin(origin: Origin): Origin {
  return redactMembers(origin as Record<string, unknown>, DEPTH_MAX) as Origin;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return REDACTED;
  if (!Array.isArray(value)) return redactMembers(value as Record<string, unknown>, depth);
  // A header as a pair of name and value.
  if (value.length === 2 && typeof value[0] === "string" && isSecretName(value[0])) return [value[0], REDACTED];
  return value.map((entry) => redactValue(entry, depth - 1));
}

function redactMembers(members: Record<string, unknown>, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [
      name,
      value !== null && isSecretName(name) ? REDACTED : redactValue(value, depth - 1),
    ]),
  );
}

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const COLON = /\s*:\s*/y;

/**
 * JSON with the values under secret names masked, and every other character unchanged. null = the text is not JSON, so
 * the position of credentials in it is not known.
 */
export function redactJson(text: string): string | null {
  const secrets = secretValues(text);
  if (secrets === null) return null;
  let shown = "";
  let from = 0;
  for (const { start, end } of secrets) {
    shown += text.slice(from, start) + JSON.stringify(REDACTED);
    from = end;
  }
  return shown + text.slice(from);
}

/** The values under secret names in a JSON text, in their order; null = the text is not JSON. */
export function secretValues(text: string): { name: string; start: number; end: number }[] | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const strings = new RegExp(STRING);
  const colon = new RegExp(COLON);
  const secrets: { name: string; start: number; end: number }[] = [];
  for (let found = strings.exec(text); found; found = strings.exec(text)) {
    // A string before a colon is a name: the text is valid.
    colon.lastIndex = strings.lastIndex;
    if (!colon.test(text)) continue;
    const name = JSON.parse(found[0]) as string;
    if (!isSecretName(name)) continue;
    const start = colon.lastIndex;
    const end = endOfValue(text, start);
    if (text.slice(start, end) !== "null") secrets.push({ name, start, end });
    strings.lastIndex = end;
  }
  return secrets;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{[]|[}\]]|[^\s,:{}[\]"]+/g;
  token.lastIndex = start;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    if (found[0] === "{" || found[0] === "[") depth++;
    else if (found[0] === "}" || found[0] === "]") depth--;
    if (depth === 0) return token.lastIndex;
  }
  return text.length;
}

/** Backslashes before a quotation mark: the text of a JSON string that holds JSON. */
const NAME_BEFORE_VALUE = /\b[A-Za-z][\w-]{0,99}(?=((?:\\{0,7}["'])?\s{0,3}[=:]\s{0,3}))/g;
const VALUE = /\\{0,7}"[^"\n]*"|'[^'\n]*'|[^\s,;&}"']+/y;

/** An error's text with what looks like a credential masked: `password=...`, `"token": "..."`, `Bearer ...`, `//user:pass@`. */
export function redactText(text: string): string {
  const plain = text
    .replace(/\b(Bearer|Basic)\s+[\w.~+/=-]{4,}/gi, `$1 ${REDACTED}`)
    .replace(/:\/\/[^/\s@]{1,200}@/g, `://${REDACTED}@`);
  const names = new RegExp(NAME_BEFORE_VALUE);
  const value = new RegExp(VALUE);
  let shown = "";
  let from = 0;
  for (let found = names.exec(plain); found; found = names.exec(plain)) {
    value.lastIndex = names.lastIndex + found[1]!.length;
    const start = value.lastIndex;
    const secret = isSecretName(found[0]) ? value.exec(plain) : null;
    if (secret === null || /^(Bearer|Basic)$/i.test(secret[0])) continue;
    shown += plain.slice(from, start) + REDACTED;
    from = start + secret[0].length;
    names.lastIndex = from;
  }
  return shown + plain.slice(from);
}
