import { redactText } from "@/lib/guard/masking/mask-text.pure";
import { secretValues } from "@/lib/guard/redaction/redact.pure";

/** Shorter texts stand in every message by chance, and protect nothing. */
const SECRET_CHARS_MIN = 4;

/** Removes secrets from everything that leaves an adapter: brokers and targets repeat what they were sent, in error texts for example. */
export type Scrubber = {
  /** Texts to take out from now on, as they are and percent-encoded. */
  learn(secrets: readonly string[]): void;
  text(text: string): string;
  /** The same error, with its own texts and those of its causes scrubbed. */
  error<T>(error: T): T;
};

const MASK = "***";
const CAUSES_MAX = 8;

/** A byte order mark, or a byte that is no text, hides no secret beside it from whoever is sent the payload. */
const lenientUtf8 = new TextDecoder("utf-8");

/** Values under secret names in a JSON payload, for `learn`: a receiver may repeat them in its answer, as text or as JSON. */
export function secretsOfPayload(payload: Uint8Array): string[] {
  const text = lenientUtf8.decode(payload);
  const values = (secretValues(text) ?? []).map(({ start, end }) => text.slice(start, end));
  return [...new Set(values.flatMap((value) => [...textsIn(JSON.parse(value)), ...numbersIn(value)]))];
}

/** As they are written: the parser rounds those beyond 2^53. */
function numbersIn(json: string): string[] {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").match(/-?\d[\d.eE+-]*/g) ?? [];
}

/** Without recursion: a payload may be nested deeper than the stack is. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one === "object" && one !== null) for (const inner of Object.values(one)) open.push(inner);
    else if (typeof one === "number") texts.push(String(one));
    else if (typeof one === "string") {
      const escaped = JSON.stringify(one).slice(1, -1);
      texts.push(...(escaped === one ? [one] : [one, escaped]));
    }
  }
  return texts;
}

/** Characters that `excerpt` looks at. */
export const EXCERPT_SOURCE_MAX = 2_048;
/** Each is looked for in each excerpt. Of a message with more of them no excerpt is shown. */
const SECRETS_MAX = 1_000;

/** The readable start of a target's answer. Secrets are masked before the cut: half of a secret would not be found. */
export function excerpt(text: string, secrets: readonly string[], charsMax: number): string {
  if (secrets.length > SECRETS_MAX) return "";
  const scrubber = createScrubber();
  scrubber.learn(secrets);
  // Before the white space of a secret changes.
  const visible = scrubber
    .text(text.slice(0, EXCERPT_SOURCE_MAX))
    .replace(/[^\P{C}]+/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
  return redactText(visible).slice(0, charsMax).toWellFormed();
}

export function createScrubber(): Scrubber {
  let known: string[] = [];
  const text = (value: string) => known.reduce((clean, secret) => clean.replaceAll(secret, MASK), value);
  const scrub = (error: unknown, depth: number): void => {
    if (!(error instanceof Error) || depth === 0) return;
    for (const name of Object.getOwnPropertyNames(error)) {
      const property = Object.getOwnPropertyDescriptor(error, name)!;
      // Names and codes are ours, and decide what happens next.
      if (typeof property.value !== "string" || name === "code" || name === "name" || !property.configurable) continue;
      const clean = text(property.value);
      if (clean !== property.value) Object.defineProperty(error, name, { ...property, value: clean });
    }
    scrub(error.cause, depth - 1);
    if (error instanceof AggregateError) for (const inner of error.errors) scrub(inner, depth - 1);
  };
  return {
    learn: (secrets) => {
      const long = secrets.filter((secret) => secret.length >= SECRET_CHARS_MIN);
      // Half a surrogate pair cannot be encoded.
      const encoded = long.map((secret) => encodeURIComponent(secret.toWellFormed()));
      const all = new Set([...known, ...long, ...encoded]);
      // The longest first: a part of a secret must not break up the whole.
      known = [...all].sort((left, right) => right.length - left.length);
    },
    text,
    error: (error) => {
      scrub(error, CAUSES_MAX);
      return error;
    },
  };
}
