import { type MendedMessage, pointerOf } from "./document";
import { MendFault } from "./fault";
import { type Entry, JsonValue, sameValue } from "./json-value";

/**
 * Changes the payload into `wanted` and keeps the text of every value that is the same: its digits, the order of names
 * and the white space.
 */
export function reshape(message: MendedMessage, wanted: JsonValue): void {
  const root = message.root();
  if (sameValue(root, wanted)) return;
  if (!reshapeInside(message, root, wanted, [])) message.replaceRoot(wanted);
}

type Path = readonly (string | number)[];

/** False = the value must be replaced as a whole. */
function reshapeInside(message: MendedMessage, target: JsonValue, wanted: JsonValue, path: Path): boolean {
  if (target.type !== wanted.type) return false;
  if (target.type === "object") return reshapeObject(message, target, wanted, path);
  return target.type === "array" && reshapeArray(message, target, wanted, path);
}

function reshapeObject(message: MendedMessage, target: JsonValue, wanted: JsonValue, path: Path): boolean {
  const after = new Map(wanted.entries().map(({ name, value }) => [name!, value]));
  const before = new Set<string>();
  for (const entry of [...target.entries()]) {
    const name = entry.name!;
    const at = [...path, name];
    if (before.has(name)) throw new MendFault("duplicate-name", pointerOf(at));
    before.add(name);
    const value = after.get(name);
    if (value !== undefined) reshapeEntry(message, entry, value, at);
    else {
      target.remove(entry);
      message.touched.push(pointerOf(at));
    }
  }
  for (const [name, value] of after) {
    if (before.has(name)) continue;
    target.insert(target.entries().length, name, JsonValue.of(value.print()));
    message.touched.push(pointerOf([...path, name]));
  }
  return true;
}

function reshapeEntry(message: MendedMessage, entry: Entry, wanted: JsonValue, path: Path): void {
  if (sameValue(entry.value, wanted) || reshapeInside(message, entry.value, wanted, path)) return;
  entry.value = JsonValue.of(wanted.print());
  message.touched.push(pointerOf(path));
}

/** Elements that are the same at both ends keep their text. */
function reshapeArray(message: MendedMessage, target: JsonValue, wanted: JsonValue, path: Path): boolean {
  const before = [...target.entries()];
  const after = wanted.entries();
  const { from, beforeTo, afterTo } = changedRange(before, after);
  for (let index = from; index < Math.max(beforeTo, afterTo); index++) {
    const at = [...path, index];
    const value = after[index]?.value;
    if (index < beforeTo && index < afterTo) {
      reshapeEntry(message, before[index]!, value!, at);
      continue;
    }
    if (index < beforeTo) target.remove(before[index]!);
    else target.insert(index, null, JsonValue.of(value!.print()));
    message.touched.push(pointerOf(at));
  }
  return true;
}

/** The elements that differ, without those that are the same at the beginning and at the end. */
export function changedRange(before: readonly Entry[], after: readonly Entry[]) {
  let from = 0;
  let [beforeTo, afterTo] = [before.length, after.length];
  while (from < Math.min(beforeTo, afterTo) && sameValue(before[from]!.value, after[from]!.value)) from++;
  while (Math.min(beforeTo, afterTo) > from && sameValue(before[beforeTo - 1]!.value, after[afterTo - 1]!.value)) {
    beforeTo--;
    afterTo--;
  }
  return { from, beforeTo, afterTo };
}
