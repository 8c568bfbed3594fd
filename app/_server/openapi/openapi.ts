import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { KEY_CHARS_MAX, KEY_PATTERN } from "@/app/_server/idempotency";
import type { Described, Media, Operation } from "@/app/_server/operation";
import { problemsOf, takesKey } from "@/app/_server/operation";
import { PROBLEMS } from "@/app/_server/problem";
import { problemSchema } from "@/lib/platform/api/problem.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";
import { giveExamples } from "./examples";
import { nameMembers } from "./named-members";
import { FORM_COMPONENTS, forGenerators } from "./openapi-form";

/** The API as OpenAPI 3.1, made of the operations and schemas that the handlers run by. */

type Json = Record<string, unknown>;
/** Of `components`: what operations share. */
type Parts = { schemas: Record<string, Json>; responses: Json };
type RouteModule = Partial<Record<"GET" | "POST" | "PATCH" | "PUT" | "DELETE", Described>>;
export type Routes = Readonly<Record<string, () => Promise<RouteModule>>>;

const DESCRIPTION = `Dead letters: park, find, verify, redrive, ignore. Times are ISO 8601 UTC; lists are keyset-paged.

A program sends a token, a browser has a session. On this machine a console can be open to everybody, and the header x-actor says
who acts there.`;

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A token of an account: pk_..." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "parkade",
    description: "The session of a person who has signed in; over https the cookie is __Host-parkade",
  },
};

/** What stands first in a path below /api/v1; `machine` are the paths outside of it. */
const TAGS = {
  account: "Your account: password, second factor, sessions",
  "account-links": "One-time links by which a person chooses a password",
  accounts: "Who may sign in, and what each may do",
  "device-sign-ins": "Programs that ask to act for a person, such as the command line",
  me: "Who a request comes from",
  "sign-in": "A session by name and password",
  "audit-verifications": "Checks of the audit against its seals and anchors",
  "sign-out": "The end of a session",
  tokens: "Secrets by which programs act for an account",
  approvals: "What waits for a second person to approve it",
  "admission-rules": "Rules that are applied to each arrival before it is stored",
  "alert-rules": "What raises alerts",
  alerts: "What is wrong now, and was",
  "mask-rules": "What is masked for everybody until it is revealed",
  archive: "Events that were removed from the store, and how to restore them",
  audit: "Who did what, and to which events",
  channels: "Where alerts are sent",
  contracts: "What targets and sources promise, checked",
  controls: "Blacklists, whitelists and cooldowns",
  events: "Parked dead letters",
  forget: "The data of a person, deleted everywhere",
  "group-mutes": "Muted groups",
  groups: "Events that failed in the same way",
  maintenances: "Times in which no alerts are sent",
  markers: "Deployments, incidents and notes on the charts",
  "openapi.json": "This document",
  operations: "Changes of large sets, and removals",
  policies: "Retry policies in versions",
  "redrive-rules": "Rules by which a worker redrives parked events",
  redrives: "Sending events back",
  retention: "How long events are kept before they expire into the archive",
  "saved-views": "Filters with a name",
  recipes: "Recipes with a name, for mends",
  schemas: "JSON Schemas of payloads, by source and event type",
  settings: "Limits against loops",
  kinds: "What a source can be, and the settings of each kind.",
  sources: "Where dead letters come from",
  stats: "Numbers over time",
  status: "What flows now",
  stops: "Sends that a person has stopped, all or those to one target",
  targets: "Where redrives deliver, and the state of their engines",
  machine: "For scripts, monitors and schedulers",
};

const KEY_PARAMETER = {
  name: "Idempotency-Key",
  in: "header",
  schema: { type: "string", pattern: KEY_PATTERN.source, maxLength: KEY_CHARS_MAX },
  description: "A repeated request with the same key gets the first one's answer and nothing happens a second time.",
};

export async function openapiDocument(routes: Routes): Promise<Json> {
  const parts: Parts = { schemas: { ...FORM_COMPONENTS }, responses: {} };
  const paths: Record<string, Json> = {};
  for (const [path, load] of Object.entries(routes)) {
    const methods = Object.entries(await load()).flatMap(([method, handler]) =>
      handler?.operation ? [[method.toLowerCase(), operationObject(path, method, handler.operation, parts)]] : [],
    );
    paths[path] = Object.fromEntries(methods);
  }
  giveExamples(parts.schemas);
  nameMembers(parts.schemas, paths);
  return {
    openapi: "3.1.0",
    info: { title: "Parkade", version: "1", description: DESCRIPTION, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/", description: "The console itself" }],
    security: [],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: { ...parts, securitySchemes: SECURITY_SCHEMES },
  };
}

function tagOf(path: string): keyof typeof TAGS {
  const part = path.split("/")[3] ?? "";
  if (!path.startsWith("/api/")) return "machine";
  if (part in TAGS) return part as keyof typeof TAGS;
  throw new Error(`${path} has no tag: describe ${part} in TAGS`);
}

function operationObject(path: string, method: string, operation: Operation, parts: Parts): Json {
  const { id, summary, params, query } = operation;
  const parameters = [
    ...Object.entries(params?.parameters ?? {}).map(([name, schema]) => parameter("path", name, schema, parts)),
    ...Object.entries(query?.parameters ?? {}).map(([name, schema]) => parameter("query", name, schema, parts)),
    ...(takesKey(operation, method) ? [KEY_PARAMETER] : []),
  ];
  const requestBody = bodyObject(operation, parts);
  return {
    operationId: id,
    summary,
    tags: [tagOf(path)],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: { ...answerObjects(operation, parts), ...problemObjects(operation, method, parts) },
  };
}

/** A list is a parameter that is given several times; an object is one parameter for each of its members. */
function parameter(place: "path" | "query", name: string, schema: z.core.$ZodType, parts: Parts): Json {
  const { description, ...json } = schemaObject(schema, parts);
  const list = (json.anyOf as Json[] | undefined)?.find(({ type }) => type === "array");
  const required = place === "path" || !z.safeParse(schema, undefined).success;
  return {
    name,
    in: place,
    ...(required ? { required } : {}),
    ...(description ? { description } : {}),
    ...(list || json.type === "object" ? { style: "form", explode: true } : {}),
    schema: list ?? json,
  };
}

function bodyObject({ body, bodyMedia, bodyOptional }: Operation, parts: Parts): Json | null {
  if (!body) return null;
  const content: Json = { "application/json": { schema: schemaObject(body, parts) } };
  for (const [type, schema] of Object.entries(bodyMedia ?? {})) {
    content[type] = { schema: schema ? schemaObject(schema, parts) : {} };
  }
  return { required: !bodyOptional, content };
}

function answerObjects({ answer, status, otherAnswers = {}, links }: Operation, parts: Parts): Json {
  const own = {
    description: "Success",
    ...(answer ? { content: contentOf(answer, parts) } : {}),
    ...(links ? { links: linkObjects(links) } : {}),
  };
  const others = Object.entries(otherAnswers).map(([code, schema]) => [
    code,
    { description: "Not ready", content: contentOf(schema, parts) },
  ]);
  return { [status ?? (answer ? 200 : 204)]: own, ...Object.fromEntries(others) };
}

function contentOf(answer: z.core.$ZodType | Media, parts: Parts): Json {
  if (!("media" in answer)) return { "application/json": { schema: schemaObject(answer, parts) } };
  return Object.fromEntries(answer.media.map((type) => [type, { schema: {} }]));
}

function linkObjects(links: NonNullable<Operation["links"]>): Json {
  const entries = Object.entries(links);
  return Object.fromEntries(entries.map(([to, parameters]) => [to, { operationId: to, parameters }]));
}

/** The problems of an operation by their status: each status says which codes it may have. */
function problemObjects(operation: Operation, method: string, parts: Parts): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  // The web server's own: an address of many values is too long.
  if (operation.query) byStatus.set(431, ["invalid-request"]);
  for (const code of problemsOf(operation, method)) {
    const [status] = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const problem = schemaObject(problemSchema, parts);
  const objects = [...byStatus].map(([status, codes]) => {
    const schema = { allOf: [problem, { type: "object", properties: { code: { enum: codes } }, required: ["code"] }] };
    const description = codes.map((code) => PROBLEMS[code][1]).join("; ");
    const name = [status, ...codes].join("-");
    parts.responses[name] = { description, content: { "application/problem+json": { schema } } };
    return [status, { $ref: `#/components/responses/${name}` }];
  });
  return Object.fromEntries(objects);
}

const DEFINITIONS = "#/$defs/";
const COMPONENTS = "#/components/schemas/";

/** The JSON Schema of what is sent. Schemas that have a name are put into `parts`, and referred to. */
function schemaObject(schema: z.core.$ZodType, parts: Parts): Json {
  const made = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      oneOrList(zodSchema, jsonSchema);
      const examples = z.globalRegistry.get(zodSchema)?.examples;
      if (examples) jsonSchema.examples = examples as unknown[];
    },
  });
  const text = JSON.stringify(made).replaceAll(`"${DEFINITIONS}`, `"${COMPONENTS}`);
  const { $schema: _, $defs = {}, ...json } = JSON.parse(text, forGenerators) as Json & { $defs?: Json };
  for (const [id, { id: __, ...definition }] of Object.entries($defs as Record<string, Json>)) {
    const other = parts.schemas[id];
    if (other !== undefined && !isDeepStrictEqual(other, definition)) throw new Error(`Two schemas are named ${id}`);
    parts.schemas[id] = definition;
  }
  return json;
}

/** A list that also accepts a single value, see `valuesOf` in the filter's contract: zod shows only the list. Lists of enumerated words stay lists, because in a union C# and Go clients of them do not compile. */
function oneOrList(schema: z.core.$ZodTypes, json: Json): void {
  const { def } = schema._zod;
  if (def.type !== "pipe" || def.in._zod.def.type !== "transform" || json.type !== "array") return;
  if (Array.isArray((json.items as Json).enum)) return;
  const list = { ...json };
  for (const name of Object.keys(json)) delete json[name];
  json.anyOf = [list.items, list];
}
