/** What names the data of a person. `pointer`: a JSON pointer (RFC 6901) into the payload. */
export type ForgetKey =
  | { tag: { name: string; value: string } }
  | { aggregateId: string; aggregateType?: string | undefined }
  | { payload: { pointer: string; value: string } };
export type ForgetKeyKind = "tag" | "aggregateId" | "pointer";

export function kindOf(key: ForgetKey): ForgetKeyKind {
  return "tag" in key ? "tag" : "payload" in key ? "pointer" : "aggregateId";
}

/** The text that names the person. */
export function personOf(key: ForgetKey): string {
  return "tag" in key ? key.tag.value : "payload" in key ? key.payload.value : key.aggregateId;
}

/** The key as text, always in the same form: what the hash of a forget is made of. */
export function keyText(key: ForgetKey): string {
  if ("tag" in key) return JSON.stringify({ tag: { name: key.tag.name, value: key.tag.value } });
  if ("payload" in key) return JSON.stringify({ payload: { pointer: key.payload.pointer, value: key.payload.value } });
  const { aggregateId, aggregateType } = key;
  return JSON.stringify(aggregateType === undefined ? { aggregateId } : { aggregateId, aggregateType });
}

type KeyFacts = {
  aggregateId: string | null;
  aggregateType: string | null;
  tags: Readonly<Record<string, string>>;
  /** All states of its payload, as text; what is no text is left out. Read for a pointer alone. */
  payloads: readonly string[];
};

export function matchesKey(key: ForgetKey, facts: KeyFacts): boolean {
  if ("tag" in key) return Object.hasOwn(facts.tags, key.tag.name) && facts.tags[key.tag.name] === key.tag.value;
  if ("payload" in key) return facts.payloads.some((text) => holdsAt(text, key.payload.pointer, key.payload.value));
  const type = key.aggregateType;
  return facts.aggregateId === key.aggregateId && (type === undefined || (facts.aggregateType ?? "") === type);
}

/** Whether the JSON text has this value at the pointer: text, or a number or boolean as it is written. */
export function holdsAt(text: string, pointer: string, value: string): boolean {
  let at: unknown;
  try {
    // Numbers as they are written: none is rounded.
    at = JSON.parse(text, (_name, inner, context?: { source?: string }) =>
      typeof inner === "number" ? (context?.source ?? String(inner)) : inner,
    );
  } catch {
    return false;
  }
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = (at as Record<string, unknown>)[name];
  }
  return typeof at === "string" ? at === value : typeof at === "boolean" && String(at) === value;
}

/** A shorter text is replaced only where it is the whole of a value: within sentences it may be anything. */
const WORD_CHARS_MIN = 6;

/** Regular expressions of PostgreSQL that find these texts: in text, and in the text of JSON. */
export type Patterns = { text: string; json: string };

/** `person`: the value that also matches where a text ends within it: "no account ada.lo…" still names ada.lovelace@example.org. */
export function patternsOf(values: readonly string[], person: string): Patterns {
  const long = values.filter((value) => value.length >= WORD_CHARS_MIN).flatMap(writtenForms);
  const short = values.filter((value) => value.length < WORD_CHARS_MIN);
  const inJson = (value: string) => JSON.stringify(value).slice(1, -1);
  // In JSON the letter of an escape, such as \n, stands before a word and is no part of it.
  // In an address it may stand behind an encoded sign, such as %22.
  const begins = (json: boolean) => `(?:(?<![[:alnum:]_])|(?<=%[0-9A-F][0-9A-F])${json ? "|(?<=\\\\[nrtbf])" : ""})`;
  const word = (of: (value: string) => string, json: boolean) =>
    long.length === 0 ? [] : [`${begins(json)}(?:${anyOf(long.map(of))})(?![[:alnum:]_])`];
  const whole = (of: (value: string) => string, [before, after]: [string, string]) =>
    short.length === 0 ? [] : [`${before}(?:${anyOf(short.map(of))})${after}`];
  const cut = (of: (value: string) => string, json: boolean) =>
    person.length < WORD_CHARS_MIN ? [] : [`${begins(json)}${beginningOf([...person].map(of))}…`];
  return {
    text: [
      ...word((value) => value, false),
      ...whole((value) => value, ["^", "$"]),
      ...cut((sign) => sign, false),
    ].join("|"),
    json: [...word(inJson, true), ...whole(inJson, ['(?<=")', '(?=")']), ...cut(inJson, true)].join("|"),
  };
}

/** As it is, and as it stands in an address of a link to a log or a trace. */
function writtenForms(value: string): string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  return [...new Set([value, encoded, encoded.replaceAll("'", "%27")])];
}

/** Fewer characters of a value than these name nobody. */
const CUT_CHARS_MIN = 3;
/** A cut text is not longer than this, nor is what it has of a value. */
const CUT_CHARS_MAX = 200;

/** An expression that finds any beginning of a value, the longest first: for `abcde` it is `abc(?:d(?:e)?)?`. */
function beginningOf(signs: readonly string[]): string {
  const escaped = signs.slice(0, CUT_CHARS_MAX).map((sign) => anyOf([sign]));
  const further = escaped.slice(CUT_CHARS_MIN).reduceRight((rest, sign) => `(?:${sign}${rest})?`, "");
  return `${escaped.slice(0, CUT_CHARS_MIN).join("")}${further}`;
}

/** The longest first: one may be the beginning of another. */
function anyOf(values: readonly string[]): string {
  return values
    .toSorted((left, right) => right.length - left.length)
    .map((value) => value.replaceAll(/[^\p{L}\p{N}_]/gu, (sign) => (sign.length > 1 ? sign : `\\${sign}`)))
    .join("|");
}
