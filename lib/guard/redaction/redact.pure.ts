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
/** What ends so says what went wrong: `TokenExpiredError: 403 from the gateway` begins many a stack. */
const FAULT_WORDS = new Set(["error", "errors", "exception", "failure", "fault"]);

/** Splits `x-functions-key`, `accessToken` and `API_KEY` into words in lower case. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** Names repeat: a list of events asks for the same ones again and again. */
const known = new Map<string, boolean>();
const KNOWN_MAX = 2_000;

/** True for a name of a header, a property or a URL parameter whose value is a credential. */
export function isSecretName(name: string): boolean {
  let secret = known.get(name);
  if (secret === undefined) {
    secret = judgeName(name);
    if (known.size >= KNOWN_MAX) known.clear();
    // A sender chooses names: long ones would fill the memory.
    if (name.length <= 100) known.set(name, secret);
  }
  return secret;
}

function judgeName(name: string): boolean {
  const words = wordsOf(name.slice(0, 200));
  if (FAULT_WORDS.has(words.at(-1)!)) return false;
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

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const COLON = /\s*:\s*/y;

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

/** The end of the value that begins here, in a valid document. */
export function endOfValue(text: string, start: number): number {
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
