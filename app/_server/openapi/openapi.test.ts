import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "@/app/routes";
import { readRouteMethods } from "@/scripts/route-methods";
import { openapiDocument } from "./openapi";

type Json = Record<string, unknown>;
type Link = { operationId: string; parameters: Record<string, string> };
type Operation = {
  operationId: string;
  parameters?: { name: string }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { content?: Record<string, { schema: object }>; links?: Record<string, Link> }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { examples?: unknown[]; required?: string[] }> };
};

let api: Document;
let operations: (Operation & { at: string })[];
beforeAll(async () => {
  api = (await openapiDocument(ROUTES)) as Document;
  operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, at: `${method.toUpperCase()} ${path}` })),
  );
});

test("describes each method of each route file, and none that is not there", () => {
  // Browsers are led there and back by a provider; no program calls it.
  const files = readRouteMethods(join(import.meta.dirname, "..", "..", ".."))
    .filter(({ path }) => !path.startsWith("/sign-in/oidc/"))
    .flatMap(({ path, methods }) => methods.map((method) => `${method} ${path.replace(/\[(\w+)\]/g, "{$1}")}`));
  expect(operations.map(({ at }) => at).sort()).toEqual(files.sort());
});

test("gives each operation an id of its own, and each of its path's parameters", () => {
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { at, parameters = [] } of operations) {
    const names = [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  }
});

test("each write takes an Idempotency-Key, but for those that store nothing, or nothing twice", () => {
  const without = operations.filter(
    ({ at, parameters = [] }) => !at.startsWith("GET") && !parameters.some(({ name }) => name === "Idempotency-Key"),
  );
  // A key keeps the answer and a hash of the request: these answer secrets, or are sent them; or a name, a code or a link counts once by itself.
  const ofAccounts = [
    "changePassword",
    "confirmTotp",
    "createAccount",
    "lookAtLink",
    "makeAccountLink",
    "makeAccountToken",
  ];
  ofAccounts.push("decideDeviceSignIn", "lookAtDeviceSignIn", "startDeviceSignIn", "takeDeviceSignIn");
  ofAccounts.push("makeOwnToken", "offerTotp", "removeTotp", "signIn", "signOut", "useLink");
  const names = without.map(({ operationId }) => operationId).filter((name) => !ofAccounts.includes(name));
  expect(names.sort()).toEqual([
    ...["checkSchema", "countMend", "inferSchema", "previewForget", "previewMapping", "previewMend", "previewRedrive"],
    ...["previewRemoval", "previewRetentionChange", "probeConfiguration", "probeSource", "revealEvent"],
    ...["tryAdmissionRule", "tryAlertRule", "tryMasking", "tryRedriveRule", "trySchema"],
  ]);
});

test("links lead to operations, by parameters that these have", () => {
  const links = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ links: given }) => Object.values(given ?? {})),
  );
  expect(links.length).toBeGreaterThan(5);
  for (const { operationId, parameters } of links) {
    const target = operations.find((operation) => operation.operationId === operationId);
    expect(target?.parameters?.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(parameters)));
  }
});

test("says the shape of every JSON answer and body", () => {
  const contents = operations.flatMap(({ at, requestBody, responses }) =>
    [requestBody, ...Object.values(responses)].flatMap((part) =>
      Object.entries(part?.content ?? {}).map(([type, { schema }]) => ({ at, type, schema })),
    ),
  );
  const shapeless = contents.filter(({ type, schema }) => /[/+]json$/.test(type) && Object.keys(schema).length === 0);
  expect(shapeless).toEqual([]);
});

test("takes request bodies from the schemas that parse them", () => {
  expect(api.components.schemas.EventIn!.required).toEqual(["source", "eventId", "errorCode"]);
});

/** Each object of the document, and the name of the field or parameter whose schema it belongs to; null = of none. */
function* objectsIn(value: unknown, field: string | null = null): Generator<{ object: Json; field: string | null }> {
  if (typeof value !== "object" || value === null) return;
  const object = value as Json;
  const own = "in" in object ? (object.name as string) : field;
  if (!Array.isArray(value)) yield { object, field: own };
  for (const [key, member] of Object.entries(object)) {
    if (["examples", "default", "enum", "const"].includes(key)) continue;
    if (key !== "properties") yield* objectsIn(member, own);
    else for (const [name, schema] of Object.entries(member as Json)) yield* objectsIn(schema, name);
  }
}

describe("what generators of clients read", () => {
  test("describes each field by its own words", () => {
    const fieldsOf = new Map<string, Set<string>>();
    for (const { object, field } of objectsIn(api)) {
      const { description } = object;
      if (typeof description !== "string" || field === null) continue;
      fieldsOf.set(description, (fieldsOf.get(description) ?? new Set()).add(field));
    }
    expect(fieldsOf.size).toBeGreaterThan(80);
    const shared = [...fieldsOf].filter(([, fields]) => fields.size > 1).map(([, fields]) => [...fields].sort());
    // Places in a payload, and JSON as text.
    expect(shared.sort()).toEqual([
      ["at", "from", "to"],
      ["equalsJson", "json", "patch"],
    ]);
  });

  test("makes a component of each object in a union, and tells them apart by their kind", () => {
    const { schemas } = api.components as unknown as { schemas: Record<string, Json> };
    const unions = [...objectsIn(schemas)].flatMap(({ object }) =>
      [object.anyOf, object.oneOf].filter((members) => members !== undefined).map((members) => ({ object, members })),
    );
    expect(unions.length).toBeGreaterThan(80);
    for (const { object, members } of unions) {
      expect((members as Json[]).filter((member) => "properties" in member)).toEqual([]);
      // Generators would add the union to the members of the object.
      expect(object).not.toHaveProperty("properties");
    }
    const kinds = unions.flatMap(({ object }) =>
      Object.entries((object.discriminator as { mapping?: Json })?.mapping ?? {}).map(([kind, $ref]) => ({
        field: (object.discriminator as Json).propertyName as string,
        kind,
        schema: schemas[($ref as string).split("/").at(-1)!]!,
      })),
    );
    expect(kinds.length).toBeGreaterThan(40);
    for (const { field, kind, schema } of kinds) {
      expect((schema.properties as Record<string, Json>)[field]).toMatchObject({ const: kind });
      expect(schema.required).toContain(field);
    }
  });

  test("gives no member's class the name of a component", () => {
    const { schemas } = api.components as unknown as { schemas: Record<string, { properties?: Record<string, Json> }> };
    const taken = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([field, part]) => {
        const own = name + field.charAt(0).toUpperCase() + field.slice(1);
        return "properties" in part && own in schemas && part.title === undefined ? [own] : [];
      }),
    );
    expect(taken).toEqual([]);
  });

  test("has one type beside null, and a union where there are several", () => {
    for (const { object } of objectsIn(api))
      if (Array.isArray(object.type)) expect(object.type.filter((type) => type !== "null")).toHaveLength(1);
  });

  test("keeps a union of components and null out of the members: the generator for Java fails on it", () => {
    for (const { object } of objectsIn(api))
      for (const { anyOf = [] } of Object.values((object.properties ?? {}) as Record<string, { anyOf?: Json[] }>))
        expect(anyOf.length > 2 && anyOf.some(({ $ref }) => $ref) && anyOf.some(({ type }) => type === "null")).toBe(
          false,
        );
  });

  test("has no boolean schemas, and each list says what is in it", () => {
    for (const { object } of objectsIn(api)) {
      const schemas = [object.items, object.not, object.propertyNames, ...Object.values(object.properties ?? {})];
      expect(schemas.filter((schema) => typeof schema === "boolean")).toEqual([]);
      if (object.type === "array") expect(object).toHaveProperty("items");
    }
  });

  test("writes null as a further type, no pattern beside a format, and no default of an object or a union", () => {
    for (const { object } of objectsIn(api)) {
      if (["date", "date-time", "uuid"].includes(object.format as string)) expect(object).not.toHaveProperty("pattern");
      const [other, none] = (object.anyOf ?? []) as Json[];
      // Null would not pass the condition of a schema, and a reference has no type to add it to.
      if (none?.type === "null" && !("$ref" in other!)) expect(other).toHaveProperty("if");
      if ("anyOf" in object || "oneOf" in object || object.type === "object")
        expect(object).not.toHaveProperty("default");
    }
  });
});

describe("examples", () => {
  test("fit the schema they stand in", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false, code: { optimize: false } });
    addFormats.default(ajv);
    ajv.addSchema({ $id: "api", ...api });
    const named = Object.entries(api.components.schemas).filter(([, { examples }]) => examples);
    expect(named.length).toBeGreaterThan(20);
    for (const [id, { examples }] of named) {
      const validate = ajv.getSchema(`api#/components/schemas/${id}`)!;
      for (const example of examples!) expect([id, validate(example), validate.errors]).toEqual([id, true, null]);
    }
  });
});
