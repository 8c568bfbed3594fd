import { secretValues } from "@/lib/core/redact";

/** Shorter texts stand in every message by chance, and protect nothing. */
const SECRET_CHARS_MIN = 4;

/**
 * Takes the values of secrets out of what leaves an adapter. A broker or a target repeats what it was sent, in the words
 * of an error for example, and these words go into logs, states, attempts and answers.
 */
export type Scrubber = {
  /** Texts to take out from now on, as they are and percent-encoded. */
  learn(secrets: readonly string[]): void;
  text(text: string): string;
  /** The same error, with its own texts and those of its causes scrubbed. */
  error<T>(error: T): T;
};

const MASK = "***";
/** Causes of causes that are looked at. */
const CAUSES_MAX = 8;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The values under secret names in a JSON payload, for `learn`: whoever is sent it may repeat it in an answer. */
export function secretsOfPayload(payload: Uint8Array): string[] {
  let text: string;
  try {
    text = utf8.decode(payload);
  } catch {
    return [];
  }
  return (secretValues(text) ?? []).flatMap(({ start, end }) => textsIn(JSON.parse(text.slice(start, end))));
}

/** Without recursion: a payload may be nested deeper than the stack is. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const open = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one === "object" && one !== null) for (const inner of Object.values(one)) open.push(inner);
    else if (typeof one === "string" || typeof one === "number") texts.push(String(one));
  }
  return texts;
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
      const all = new Set([...known, ...long, ...long.map(encodeURIComponent)]);
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
