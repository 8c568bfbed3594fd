import { isSecretHeader, isSecretName, REDACTED, redactJson } from "@/lib/guard/redaction/redact.pure";
import type { Difference } from "@/lib/repair/recipes/recipes.shapes";
import { MendedMessage, type Message, pointerOf } from "./document";
import { MendFault } from "./fault";
import type { Entry, JsonValue } from "./json-value";
import { changedRange } from "./reshape";

/** Differences of one event that are shown, and characters of each value. */
const SHOWN_MAX = 50;
const CHARS_MAX = 500;

/**
 * What differs between two states of a message. `masks`: values of the payload under secret names are masked. Credentials
 * of headers always are.
 */
export function differencesOf(
  before: Message,
  after: Message,
  masks: boolean,
): { differences: Difference[]; more: boolean } {
  const found: Difference[] = [];
  const add = (path: readonly (string | number)[], from: JsonValue | null, to: JsonValue | null) => {
    if (found.length > SHOWN_MAX) return;
    const hidden = masks && path.some((segment) => typeof segment === "string" && isSecretName(segment));
    const shown = (value: JsonValue | null) => (value === null ? null : hidden ? REDACTED : shownText(value, masks));
    found.push({ at: pointerOf(path), before: shown(from), after: shown(to) });
  };
  if (before.payload !== after.payload) {
    try {
      compare(new MendedMessage(before, false).root(), new MendedMessage(after, false).root(), [], add);
    } catch (error) {
      // Nested too deeply to compare: the whole payload differs.
      if (!(error instanceof RangeError || error instanceof MendFault)) throw error;
      found.push({ at: "", before: null, after: null });
    }
  }
  addHeaders(found, before, after);
  return { differences: found.slice(0, SHOWN_MAX), more: found.length > SHOWN_MAX };
}

function shownText(value: JsonValue, masks: boolean): string {
  const text = value.print();
  const plain = masks ? (redactJson(text) ?? REDACTED) : text;
  return plain.length > CHARS_MAX ? `${plain.slice(0, CHARS_MAX)}…` : plain;
}

type Add = (path: readonly (string | number)[], from: JsonValue | null, to: JsonValue | null) => void;

function compare(before: JsonValue, after: JsonValue, path: readonly (string | number)[], add: Add): void {
  if (before.print() === after.print()) return;
  if (before.type === "object" && after.type === "object") compareMembers(before.entries(), after.entries(), path, add);
  else if (before.type === "array" && after.type === "array") {
    const [old, made] = [before.entries(), after.entries()];
    const { from, beforeTo, afterTo } = changedRange(old, made);
    for (let index = from; index < Math.max(beforeTo, afterTo); index++) {
      const pair = [index < beforeTo ? old[index]!.value : null, index < afterTo ? made[index]!.value : null] as const;
      if (pair[0] && pair[1]) compare(pair[0], pair[1], [...path, index], add);
      else add([...path, index], ...pair);
    }
  } else add(path, before, after);
}

/** Of a name that occurs several times, the first is compared with the first, and so on. */
function compareMembers(
  before: readonly Entry[],
  after: readonly Entry[],
  path: readonly (string | number)[],
  add: Add,
) {
  const left = Map.groupBy(after, ({ name }) => name!);
  for (const { name, value } of before) {
    const twin = left.get(name!)?.shift();
    if (twin) compare(value, twin.value, [...path, name!], add);
    else add([...path, name!], value, null);
  }
  for (const [name, entries] of left) for (const { value } of entries) add([...path, name], null, value);
}

function addHeaders(found: Difference[], before: Message, after: Message): void {
  if (before.headers === after.headers) return;
  const values = ({ headers }: Message) => Map.groupBy(headers, ([name]) => name);
  const [old, made] = [values(before), values(after)];
  for (const name of new Set([...old.keys(), ...made.keys()])) {
    const text = (map: typeof old) =>
      map
        .get(name)
        ?.map(([, value]) => value ?? "")
        .join(", ") ?? null;
    const pair = [text(old), text(made)];
    if (pair[0] === pair[1]) continue;
    const shown = pair.map((value) =>
      value !== null && isSecretHeader(name) ? REDACTED : (value?.slice(0, CHARS_MAX) ?? null),
    );
    found.push({ at: `header:${name}`, before: shown[0]!, after: shown[1]! });
  }
}
