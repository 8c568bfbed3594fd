import { isDeepStrictEqual } from "node:util";

type Json = Record<string, unknown>;
type Schemas = Record<string, Json>;

const COMPONENTS = "#/components/schemas/";
const UNIONS = ["anyOf", "oneOf"] as const;

/**
 * Makes each object in a union a component, and names the member by which they differ: client generators call the objects
 * `RecipeOneOf1`, which another order of the members would rename, and one of them drops those that it has seen twice.
 */
export function nameMembers(schemas: Schemas, paths: Json): void {
  for (const [name, schema] of Object.entries(schemas)) nameIn(schema, name, schemas);
  for (const schema of Object.values(schemas)) spreadIn(schema, schemas);
  const text = JSON.stringify([paths, schemas]);
  for (const [name, { discriminator }] of Object.entries(schemas))
    if (discriminator !== undefined && !text.includes(`"${COMPONENTS}${name}"`)) delete schemas[name];
  for (const [name, { properties = {} }] of Object.entries(schemas))
    for (const [field, part] of Object.entries(properties as Record<string, Json>)) {
      const own = name + pascal(field);
      if (isNullableUnion(part)) moveUnion(part, own, schemas);
      // Otherwise the class of the member would take the name of the component.
      if ("properties" in part && schemas[own] !== undefined) part.title = `${own}Part`;
    }
}

/** A union of components and null. */
function isNullableUnion({ anyOf }: { anyOf?: Json[] }): boolean {
  return anyOf !== undefined && anyOf.length > 2 && anyOf.some(isNull) && anyOf.some(({ $ref }) => $ref !== undefined);
}

const isNull = ({ type }: Json) => type === "null";

/** The generator for Java makes null a class that does not compile, unless the union is a component. */
function moveUnion(part: { anyOf?: Json[] } & Json, own: string, schemas: Schemas): void {
  schemas[own] = { anyOf: part.anyOf };
  part.$ref = COMPONENTS + own;
  delete part.anyOf;
}

function nameIn(schema: unknown, name: string, schemas: Schemas): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  const { properties = {}, items, additionalProperties } = schema as Json;
  for (const [field, part] of Object.entries(properties as Json)) nameIn(part, name + pascal(field), schemas);
  nameIn(items, `${name}Item`, schemas);
  nameIn(additionalProperties, `${name}Value`, schemas);
  for (const keyword of UNIONS) nameUnion(schema as Json, keyword, name, schemas);
}

function nameUnion(schema: Json, keyword: (typeof UNIONS)[number], name: string, schemas: Schemas): void {
  const members = schema[keyword] as Json[] | undefined;
  if (members === undefined) return;
  const objects = members.filter(isObject);
  const kind = kindOf(objects);
  const mapping: Record<string, string> = {};
  schema[keyword] = members.map((member, index) => {
    if (!isObject(member)) {
      nameIn(member, name, schemas);
      return member;
    }
    const words = [constsOf(member), ownField(member, objects), String(index + 1)];
    const names = words.filter((word) => word !== "").map((word) => name + pascal(word));
    const own = names.find((one) => schemas[one] === undefined || isDeepStrictEqual(schemas[one], member))!;
    schemas[own] = member;
    nameIn(member, own, schemas);
    const $ref = COMPONENTS + own;
    if (kind !== null) mapping[constOf(member, kind)!] = $ref;
    return { $ref };
  });
  if (kind !== null && objects.length === members.length) schema.discriminator = { propertyName: kind, mapping };
}

/** A union within another, such as one beside null, is flattened: generators lose its discriminator. */
function spreadIn(schema: unknown, schemas: Schemas): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const part of Object.values(schema)) spreadIn(part, schemas);
  const { anyOf } = schema as { anyOf?: Json[] };
  if (!Array.isArray(anyOf)) return;
  (schema as Json).anyOf = anyOf.flatMap((member) => {
    const named = typeof member.$ref === "string" ? schemas[member.$ref.slice(COMPONENTS.length)] : undefined;
    return named?.discriminator === undefined ? [member] : ((named.oneOf ?? named.anyOf) as Json[]);
  });
}

function isObject(schema: Json): boolean {
  return "properties" in schema && schema.type === "object";
}

function constOf(schema: Json, field: string): string | null {
  const value = ((schema.properties as Json)[field] as Json | undefined)?.const;
  return typeof value === "string" ? value : null;
}

/** The member whose value identifies the object. */
function kindOf(objects: readonly Json[]): string | null {
  const [first, ...others] = objects;
  if (first === undefined || others.length === 0) return null;
  const fields = Object.keys(first.properties as Json);
  const differs = (field: string) => {
    const values = objects.map((object) => constOf(object, field));
    return !values.includes(null) && new Set(values).size === values.length;
  };
  return fields.find(differs) ?? null;
}

/** The constant values of its members. */
function constsOf(object: Json): string {
  return Object.keys(object.properties as Json)
    .flatMap((field) => constOf(object, field) ?? [])
    .join(" ");
}

/** The first required member that none of the other objects has. */
function ownField(object: Json, objects: readonly Json[]): string {
  const others = objects.filter((other) => other !== object);
  const isOwn = (field: string) => others.every(({ properties }) => !(field in (properties as Json)));
  return ((object.required ?? []) as string[]).find(isOwn) ?? "";
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
