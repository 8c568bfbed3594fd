import { isDeepStrictEqual } from "node:util";

type Json = Record<string, unknown>;

/**
 * A reviver of `JSON.parse`: rewrites what generators of clients refuse or misread in a JSON Schema into a form of the same
 * meaning, or of a wider one where the server refuses the rest. openapi-generator makes classes that do not compile for `anyOf`
 * with null, for unions of lists and for `const: true`, and copies a default of an object or of a union into the source as it is.
 * Neither it nor linters read a list without `items`, and openapi-python-client refuses boolean schemas.
 */
export function forGenerators(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return FORMS.reduce((schema, form) => form(schema), value as Json);
}

const FORMS = [withItems, oneList, formatAlone, orNull, onlyTrue, withDefaultInWords];

/** A list of fixed length as a list of one type: `prefixItems` is what generators stumble over. */
function withItems(schema: Json): Json {
  if (schema.items !== false) return schema;
  const { prefixItems, ...rest } = schema;
  const types = (prefixItems as Json[]).flatMap(({ type }) => type);
  return { ...rest, items: { type: [...new Set(types)] } };
}

/** `[a, b]` or `[a, b, c]`: one list, by the same words of its items. */
function oneList(schema: Json): Json {
  const { anyOf: _, ...rest } = schema;
  const lists = membersOf(schema, "anyOf");
  const [shortest, longest] = [lists[0], lists.at(-1)];
  if (!shortest?.minItems || !lists.every(({ items }) => isDeepStrictEqual(items, shortest.items))) return schema;
  return { ...rest, ...longest, minItems: shortest.minItems };
}

/** Whose format says what the pattern says: generators make a type of the first and then apply the second to text. */
function formatAlone(schema: Json): Json {
  const { pattern: _, ...rest } = schema;
  return ["date", "date-time", "uuid"].includes(schema.format as string) ? rest : schema;
}

/** Keywords that null does not pass as every other type does. */
const NOT_FOR_NULL = ["$ref", "anyOf", "oneOf", "allOf", "not", "if", "const"];

function orNull(schema: Json): Json {
  const [other, none, ...more] = membersOf(schema, "anyOf");
  if (other === undefined || none?.type !== "null" || more.length > 0) return schema;
  const { anyOf: _, ...rest } = schema;
  const union = ["anyOf", "oneOf"].find((keyword) => keyword in other);
  if (union && Object.keys(other).length === 1) return { ...rest, [union]: [...membersOf(other, union), none] };
  if (!other.type || NOT_FOR_NULL.some((keyword) => keyword in other)) return schema;
  const values = Array.isArray(other.enum) ? { enum: [...other.enum, null] } : {};
  return { ...other, ...rest, ...values, type: [other.type, "null"].flat() };
}

function onlyTrue(schema: Json): Json {
  if (schema.const !== true || schema.type !== "boolean") return schema;
  const { const: _, ...rest } = schema;
  return { ...rest, not: { enum: [false] } };
}

function withDefaultInWords(schema: Json): Json {
  const { default: given, ...rest } = schema;
  const isUnion = "anyOf" in schema || "oneOf" in schema;
  if (given === undefined || !(isUnion || schema.type === "object")) return schema;
  const text = JSON.stringify(given);
  if (text === "{}") return rest; // Its members say their own.
  return { ...rest, description: schema.description ? `${schema.description}. Default: ${text}` : `Default: ${text}` };
}

function membersOf(schema: Json, keyword: string): Json[] {
  return Array.isArray(schema[keyword]) ? (schema[keyword] as Json[]) : [];
}
