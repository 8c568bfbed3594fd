import { escapeToken } from "@/lib/sources/schemas/schema-fault.pure";

/** Deeper values take any form. */
const DEPTH_MAX = 40;
/** An object of more names than these, each of them rare, holds its keys as data: ids, dates, languages. */
const NAMES_MAX = 64;
/** Share of the objects in which a name of such a map occurs at most. */
const RARE = 0.2;
/** No object may make the inference hold more names than these. */
const NAMES_HELD_MAX = 2_000;

/** What was seen at one place of the payloads. */
type Seen = {
  count: number;
  types: Map<JsonType, number>;
  /** Of objects: by name. null = its names are data, and `values` is what they hold. */
  names: Map<string, Seen> | null;
  values: Seen | null;
  /** Of arrays: their items. */
  items: Seen | null;
};

type JsonType = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object";

export type SchemaInference = {
  add(value: unknown): void;
  /** The schema that every added value matches; null = none was added. */
  result(): { schema: Record<string, unknown>; optional: string[] } | null;
};

/**
 * Infers a JSON Schema (2020-12) from values that went through. It says types, nesting, and which fields every value
 * has. It names no values and forbids no further fields: a value that was not seen yet is more often new than wrong.
 */
export function inferSchema(): SchemaInference {
  const root = nothing();
  return {
    add: (value) => see(root, value, 0),
    result: () => {
      if (root.count === 0) return null;
      const optional: string[] = [];
      return { schema: schemaOf(root, "", optional), optional };
    },
  };
}

function nothing(): Seen {
  return { count: 0, types: new Map(), names: new Map(), values: null, items: null };
}

function see(seen: Seen, value: unknown, depth: number): void {
  const type = typeOf(value);
  seen.count++;
  seen.types.set(type, (seen.types.get(type) ?? 0) + 1);
  if (depth === DEPTH_MAX) return;
  if (type === "array") {
    seen.items ??= nothing();
    for (const item of value as unknown[]) see(seen.items, item, depth + 1);
  }
  if (type === "object") seeObject(seen, value as Record<string, unknown>, depth);
}

function seeObject(seen: Seen, value: Record<string, unknown>, depth: number): void {
  for (const [name, part] of Object.entries(value)) {
    if (seen.names === null) {
      see(seen.values!, part, depth + 1);
      continue;
    }
    const known = seen.names.get(name) ?? nothing();
    seen.names.set(name, known);
    see(known, part, depth + 1);
  }
  if (seen.names === null || seen.names.size <= NAMES_MAX) return;
  const objects = seen.types.get("object")!;
  const rare = [...seen.names.values()].filter(({ count }) => count <= Math.max(1, objects * RARE)).length;
  // Until a few objects were seen, every name is rare.
  if (seen.names.size <= NAMES_HELD_MAX && (objects < 5 || rare < seen.names.size)) return;
  seen.values = [...seen.names.values()].reduce(merge, nothing());
  seen.names = null;
}

function merge(into: Seen, from: Seen): Seen {
  into.count += from.count;
  for (const [type, count] of from.types) into.types.set(type, (into.types.get(type) ?? 0) + count);
  if (from.items) into.items = merge(into.items ?? nothing(), from.items);
  if (into.names === null || from.names === null) {
    const parts = [into, from].flatMap(({ names, values }) => [
      ...(names?.values() ?? []),
      ...(values ? [values] : []),
    ]);
    into.values = parts.reduce(merge, nothing());
    into.names = null;
    return into;
  }
  for (const [name, part] of from.names) into.names.set(name, merge(into.names.get(name) ?? nothing(), part));
  return into;
}

function typeOf(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as JsonType;
}

const ORDER: readonly JsonType[] = ["object", "array", "string", "integer", "number", "boolean", "null"];

function schemaOf(seen: Seen, at: string, optional: string[]): Record<string, unknown> {
  const types = ORDER.filter((type) => seen.types.has(type) && !(type === "integer" && seen.types.has("number")));
  const schema: Record<string, unknown> = { type: types.length === 1 ? types[0] : types };
  if (seen.types.has("object")) Object.assign(schema, objectOf(seen, at, optional));
  if (seen.items && seen.items.count > 0) schema.items = schemaOf(seen.items, `${at}/*`, optional);
  return schema;
}

function objectOf(seen: Seen, at: string, optional: string[]): Record<string, unknown> {
  if (seen.names === null) return { additionalProperties: schemaOf(seen.values!, `${at}/*`, optional) };
  const objects = seen.types.get("object")!;
  const names = [...seen.names];
  // The validator checks nothing under this name, so the schema cannot say anything about it.
  const sayable = names.filter(([name]) => name !== "__proto__");
  const required = sayable.filter(([, part]) => part.count === objects).map(([name]) => name);
  const properties = sayable.map(([name, part]) => {
    const pointer = `${at}/${escapeToken(name)}`;
    if (part.count < objects) optional.push(pointer);
    return [name, schemaOf(part, pointer, optional)] as const;
  });
  return {
    ...(required.length > 0 ? { required } : {}),
    ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
  };
}
