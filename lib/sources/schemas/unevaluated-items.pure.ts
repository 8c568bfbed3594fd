import { escapeToken } from "@/lib/sources/schemas/schema-fault.pure";

type Schema = Record<string, unknown>;
type Place = { schema: Schema; at: string; keyword: string };

/** Keywords whose value is one schema, several in a list, and several by name. */
const ONE = ["additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema", "not"]
  .concat(["items", "contains", "unevaluatedItems"])
  .concat(["if", "then", "else"]);
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/** Their schemas apply to the same value, and report which of its items they have evaluated. */
const IN_PLACE = new Set(["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"]);

/**
 * The first place at which `unevaluatedItems` depends on a `contains`; null = there is none. Ajv treats all items as evaluated beside a
 * `contains`, and none below a condition, so it decides such a schema wrongly. The depth of the schema must be bounded.
 */
export function unevaluatedItemsFault(root: Schema): string | null {
  const places = [...placesIn({ schema: root, at: "", keyword: "" })];
  const targets = new Map(places.flatMap((place) => namesOf(place).map((name) => [name, place] as const)));
  for (const { schema, at } of places) {
    // `items` leaves no item unevaluated.
    if (!("unevaluatedItems" in schema) || schema.unevaluatedItems === true || "items" in schema) continue;
    const contains = containsBeside({ schema, at, keyword: "" }, targets);
    if (contains === null) continue;
    const where = at === "" ? "at the top" : `at ${at}`;
    return `unevaluatedItems ${where} cannot be checked beside the contains at ${contains}: write "items" with a schema that every item must match, and leave out unevaluatedItems`;
  }
  return null;
}

function containsBeside(place: Place, targets: ReadonlyMap<string, Place>): string | null {
  const open = [place];
  const seen = new Set<Schema>();
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { schema, at } = one;
    if (seen.has(schema)) continue;
    seen.add(schema);
    if ("contains" in schema) return `${at}/contains`;
    open.push(...partsOf(one).filter(({ keyword }) => IN_PLACE.has(keyword)));
    for (const reference of [schema.$ref, schema.$dynamicRef]) {
      const target = typeof reference === "string" ? targets.get(decoded(reference)) : undefined;
      if (target) open.push(target);
    }
  }
  return null;
}

function decoded(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

/** The names by which a reference may address it. */
function namesOf({ schema: { $id, $anchor, $dynamicAnchor }, at }: Place): string[] {
  const anchors = [$anchor, $dynamicAnchor].filter((name) => typeof name === "string");
  return [`#${at}`, ...anchors.map((name) => `#${name}`), ...(typeof $id === "string" ? [$id] : [])];
}

function* placesIn(place: Place): Generator<Place> {
  yield place;
  for (const part of partsOf(place)) yield* placesIn(part);
}

function partsOf({ schema, at }: Place): Place[] {
  const part = (keyword: string, value: unknown, below: string): Place[] =>
    isSchema(value) ? [{ schema: value, at: `${at}/${below}`, keyword }] : [];
  const several = (keyword: string) =>
    Object.entries((schema[keyword] as Schema | undefined) ?? {}).flatMap(([name, value]) =>
      part(keyword, value, `${keyword}/${escapeToken(name)}`),
    );
  return [
    ...ONE.flatMap((keyword) => part(keyword, schema[keyword], keyword)),
    ...LISTS.filter((keyword) => Array.isArray(schema[keyword])).flatMap(several),
    ...NAMED.filter((keyword) => isSchema(schema[keyword])).flatMap(several),
  ];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
