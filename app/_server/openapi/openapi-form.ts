import { isDeepStrictEqual } from "node:util";

type Json = Record<string, unknown>;

/**
 * A reviver of `JSON.parse`: rewrites what generators of clients refuse or misread in a JSON Schema into a form of the same
 * meaning, or of a wider one where the server refuses the rest. openapi-generator makes classes that do not compile for `anyOf`
 * with null, for unions of lists and for `const: true`, and copies a default of an object or of a union into the source as it is.
 * Neither it nor linters accept a list without `items`, openapi-python-client rejects boolean schemas, and oapi-codegen a list of types.
 * How clients were generated and compiled is in CONTRIBUTING.md.
 */
export function forGenerators(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return FORMS.reduce((schema, form) => form(schema), value as Json);
}

/** Components to add to the document. Java clients do not compile with a nullable object of anything unless it has a name. */
export const FORM_COMPONENTS = { AnyMembers: { type: "object", additionalProperties: true } };

const FORMS = [
  withItems,
  anyMembers,
  oneList,
  formatAlone,
  valuesAlone,
  flatUnion,
  listAlone,
  orNull,
  severalTypes,
  onlyTrue,
  withDefaultInWords,
  withChoiceInWords,
];

/** A list of fixed length as a list of one type: `prefixItems` is what generators stumble over. */
function withItems(schema: Json): Json {
  if (schema.items !== false) return schema;
  const { prefixItems, ...rest } = schema;
  const types = (prefixItems as Json[]).flatMap(({ type }) => type);
  return { ...rest, items: { type: [...new Set(types)] } };
}

/** Members of any type: openapi-generator names no type for those of `{}` where the object may be null. */
function anyMembers(schema: Json): Json {
  return isDeepStrictEqual(schema.additionalProperties, {}) ? { ...schema, additionalProperties: true } : schema;
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

/** Enumerated numbers need no bounds: C# enums are `int`, and bounds make generators choose a larger type. */
function valuesAlone(schema: Json): Json {
  const { minimum: _, maximum: __, ...rest } = schema;
  return Array.isArray(schema.enum) ? rest : schema;
}

/** A union of unions that share no object. */
function flatUnion(schema: Json): Json {
  const members = membersOf(schema, "oneOf");
  const flat = members.flatMap((member) =>
    isDeepStrictEqual(Object.keys(member), ["oneOf"]) ? membersOf(member, "oneOf") : [member],
  );
  return flat.length === members.length ? schema : { ...schema, oneOf: flat };
}

/** A list, or an object of such lists: for lists of lists in a union, generators make classes that do not compile. */
function listAlone(schema: Json): Json {
  const [list, map, ...more] = membersOf(schema, "anyOf");
  if (list?.type !== "array" || !map?.additionalProperties || more.length > 0) return schema;
  const { anyOf: _, ...rest } = schema;
  return inWords({ ...rest, ...list }, "Also an object of names and values");
}

/** Keywords that null does not pass as every other type does. */
const NOT_FOR_NULL = ["$ref", "anyOf", "oneOf", "allOf", "not", "if", "const"];

function orNull(schema: Json): Json {
  const [other, none, ...more] = membersOf(schema, "anyOf");
  if (other === undefined || none?.type !== "null" || more.length > 0) return schema;
  const { anyOf: _, ...rest } = schema;
  if (other.type === "object" && other.additionalProperties === true && !("properties" in other))
    return { ...rest, anyOf: [{ $ref: "#/components/schemas/AnyMembers" }, none] };
  const union = ["anyOf", "oneOf"].find((keyword) => keyword in other);
  if (union && Object.keys(other).length === 1) return { ...rest, [union]: [...membersOf(other, union), none] };
  if (!other.type || NOT_FOR_NULL.some((keyword) => keyword in other)) return schema;
  const values = Array.isArray(other.enum) ? { enum: [...other.enum, null] } : {};
  return { ...other, ...rest, ...values, type: [other.type, "null"].flat() };
}

/** Turns several types into a union: generators read only one type beside null. */
function severalTypes(schema: Json): Json {
  const { type: types, description, examples, ...rest } = schema;
  if (!Array.isArray(types) || types.filter((type) => type !== "null").length < 2) return schema;
  const words = { ...(description ? { description } : {}), ...(examples ? { examples } : {}) };
  return { ...words, anyOf: types.map((type) => (type === "null" ? { type } : { ...rest, type })) };
}

/** Moves alternatives among required members into the description: generators take them for a union of objects. */
function withChoiceInWords(schema: Json): Json {
  if (!("properties" in schema)) return schema;
  const keyword = ["oneOf", "anyOf"].find((one) => membersOf(schema, one).length > 0);
  const names = keyword === undefined ? [] : membersOf(schema, keyword).map(requiredAlone);
  if (keyword === undefined || names.includes(null)) return schema;
  const { [keyword]: _, ...rest } = schema;
  return inWords(rest, `${keyword === "oneOf" ? "Exactly" : "At least"} one of ${names.join(", ")}`);
}

/** The member that a schema requires, if it does nothing else. */
function requiredAlone({ properties, required, ...rest }: Json): string | null {
  const [name, ...others] = (required ?? []) as string[];
  const free = isDeepStrictEqual(properties, name === undefined ? null : { [name]: {} });
  return name !== undefined && others.length === 0 && free && Object.keys(rest).length === 0 ? name : null;
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
  return inWords(rest, `Default: ${text}`);
}

function inWords(schema: Json, words: string): Json {
  return { ...schema, description: schema.description ? `${schema.description}. ${words}` : words };
}

function membersOf(schema: Json, keyword: string): Json[] {
  return Array.isArray(schema[keyword]) ? (schema[keyword] as Json[]) : [];
}
