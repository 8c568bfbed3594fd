import { isStorableText } from "./storable.pure";

/** Deepest allowed nesting of a JSON body, except for ingest. A JSON Schema of fifty levels is already unreadable. */
const DEPTH_MAX = 100;

/** The place of a JSON value that is not allowed, as a path like `filter.q` or `ids[3]`, and the reason. */
export type JsonFault = { field: string; detail: string };

type Place = { value: unknown; field: string; depth: number };

/**
 * The first text, name or depth of a parsed JSON body that PostgreSQL cannot store as it came, or that JavaScript would
 * lose: a NUL, half a surrogate pair, the name `__proto__`, too deep a nesting. Null = none. Reads without recursion, so
 * that depth cannot exhaust the stack.
 */
export function jsonFault(body: unknown): JsonFault | null {
  const places: Place[] = [{ value: body, field: "", depth: 0 }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { value, field, depth } = place;
    if (typeof value === "string" && !isStorableText(value)) return { field, detail: UNSTORABLE };
    if (typeof value !== "object" || value === null) continue;
    if (depth === DEPTH_MAX) return { field, detail: `is nested deeper than ${DEPTH_MAX} levels` };
    for (const [name, inner] of Object.entries(value)) {
      const at = Array.isArray(value) ? `${field}[${name}]` : field === "" ? name : `${field}.${name}`;
      if (!isStorableText(name)) return { field, detail: `has a name that ${UNSTORABLE}` };
      if (name === "__proto__") return { field: at, detail: "is a name that cannot be kept: use another" };
      places.push({ value: inner, field: at, depth: depth + 1 });
    }
  }
  return null;
}

const UNSTORABLE = "contains a NUL character or half a surrogate pair, which PostgreSQL does not store: leave it out";
