import { headerText } from "@/lib/platform/plain/dead-letter.pure";
import type { ProbeSampleOut } from "@/lib/sources/sources.shapes";

/** Deeper values, and further elements of a list, are rarely a fact of the event. */
const DEPTH_MAX = 5;
const SELECTORS_MAX = 200;
const EXAMPLE_CHARS = 60;

/** A place in the sampled messages that a mapping can name, with a value that one of them has there. */
type Selector = { selector: string; example: string };

/** Headers, properties and values of the payload that the samples have. */
export function selectorsIn(samples: readonly Pick<ProbeSampleOut, "message">[]): Selector[] {
  const found = new Map<string, string>();
  const add = (selector: string, value: string | null) => {
    if (value === null || value.trim() === "" || found.has(selector)) return;
    found.set(selector, value.length > EXAMPLE_CHARS ? `${value.slice(0, EXAMPLE_CHARS)}…` : value);
  };
  for (const { message } of samples) {
    for (const header of message.headers) add(header[0].toLowerCase(), headerText(header));
    for (const [selector, value] of scalarsOf(parsed(message.payload), "", DEPTH_MAX)) add(selector, value);
  }
  for (const { message } of samples)
    for (const [name, value] of Object.entries(message.properties)) add(`property:${name}`, value);
  return [...found].slice(0, SELECTORS_MAX).map(([selector, example]) => ({ selector, example }));
}

function parsed(payload: string | null): unknown {
  if (payload === null) return undefined;
  try {
    return JSON.parse(payload);
  } catch {
    return undefined; // a text without places
  }
}

/** JSON pointers (RFC 6901) to what has a text form. */
function* scalarsOf(value: unknown, pointer: string, depth: number): Iterable<[pointer: string, text: string]> {
  if (typeof value !== "object" || value === null) {
    if (pointer !== "" && value !== undefined && value !== null) yield [pointer, String(value)];
    return;
  }
  if (depth === 0) return;
  const members = Array.isArray(value) ? Object.entries(value.slice(0, 1)) : Object.entries(value);
  for (const [key, member] of members) {
    const token = key.replaceAll("~", "~0").replaceAll("/", "~1");
    yield* scalarsOf(member, `${pointer}/${token}`, depth - 1);
  }
}
