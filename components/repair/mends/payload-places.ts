import { type Node, parseTree } from "jsonc-parser";
import type { EventDetail } from "@/lib/events/events.shapes";

/** More places than a list of suggestions can show. */
const PLACES_MAX = 400;
/** A longer sample costs more than its suggestions are worth. */
const SAMPLE_CHARS_MAX = 500_000;

/** The JSON pointers of the payloads and the names of their headers, as a recipe writes them, each once. */
export function placesOf(events: readonly Pick<EventDetail, "body" | "headers">[]): string[] {
  const places = new Set<string>();
  for (const { body } of events) {
    if (body.text === null || body.text.length > SAMPLE_CHARS_MAX) continue;
    const root = readTree(body.text);
    if (root) collect(root, "", places);
  }
  for (const [name] of events.flatMap(({ headers }) => headers)) places.add(`header:${name}`);
  return [...places].slice(0, PLACES_MAX);
}

/** The error that all samples have, cut to what a line holds; null = they have several, or none. */
export function sharedError(events: readonly Pick<EventDetail, "fingerprint" | "lastError">[]): string | null {
  const [first, ...others] = events;
  if (!first?.lastError || others.some(({ fingerprint }) => fingerprint !== first.fingerprint)) return null;
  return first.lastError.slice(0, 300).toWellFormed();
}

function readTree(text: string): Node | undefined {
  try {
    return parseTree(text, []);
  } catch (error) {
    // The parser recurses: a text that is nested deeply ends its stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function collect(root: Node, path: string, places: Set<string>): void {
  const stack: [Node, string][] = [[root, path]];
  for (let next = stack.pop(); next && places.size < PLACES_MAX; next = stack.pop()) {
    const [node, at] = next;
    if (at !== "") places.add(at);
    const children: [Node, string][] = (node.children ?? []).flatMap((child, index) => {
      if (node.type === "array") return index === 0 ? [[child, `${at}/0`]] : [];
      const [name, value] = child.children ?? [];
      return name && value ? [[value, `${at}/${escaped(String(name.value))}`]] : [];
    });
    stack.push(...children.reverse());
  }
}

const escaped = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");
