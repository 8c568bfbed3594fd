import * as z from "zod";
import { AUDIT_SUBJECTS } from "@/lib/contract/audit";
import { bulkOperationChangeSchema } from "@/lib/contract/bulk-operations";
import { confirmRequestSchema } from "@/lib/contract/confirm";
import { controlRequestSchema } from "@/lib/contract/controls";
import {
  FILTER_NAMES,
  FILTER_STATUSES,
  INSTANT_PATTERN,
  WALL_TIME_PATTERN,
  WORD_PATTERN,
} from "@/lib/contract/event-filter";
import { eventInSchema } from "@/lib/contract/event-in";
import { ITEM_STATES, previewRequestSchema, redriveChangeSchema, redriveRequestSchema } from "@/lib/contract/redrives";
import { savedViewRequestSchema } from "@/lib/contract/saved-views";
import { bulkChangeSchema, releaseSchema } from "@/lib/contract/selection";
import { probeRequestSchema, sourceChangeSchema, sourceRequestSchema } from "@/lib/contract/sources";
import { policyRequestSchema, settingsChangeSchema, targetChangeSchema } from "@/lib/contract/targets";
import { BULK_STATES } from "@/lib/core/bulk-operation";
import { EARLIER_CHOICES } from "@/lib/core/order-gate";
import { PROBLEM_CODES } from "@/lib/core/problem";
import { REDRIVE_STATES } from "@/lib/core/redrive-state";
import { STATUS } from "./problem";

/** The API as OpenAPI 3.1: request bodies come from the very schemas that parse them. */

type Json = Record<string, unknown>;
type Operation = {
  summary: string;
  filter?: boolean;
  query?: Json[];
  body?: z.core.$ZodType;
  answers: number;
  /** Media types of the answer; default JSON. */
  type?: string | string[];
};
type Paths = Record<string, Record<string, Operation>>;

/** A query parameter; what its text may be is in `schema`. */
const text = (name: string, description: string, schema: Json = FREE_TEXT): Json => ({
  name,
  in: "query",
  schema: { type: "string", ...schema },
  description,
});
const SOME_TEXT = { minLength: 1 };
const FREE_TEXT = { minLength: 1, maxLength: 512 };
const INSTANT = { pattern: INSTANT_PATTERN };
const UUID = { format: "uuid" };

const PAGE = [
  { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 500, default: 50 } },
  text("cursor", "`nextCursor` or `prevCursor` of a page before.", SOME_TEXT),
];
const WINDOW = [
  text("from", "ISO 8601, epoch milliseconds, or relative: -24h", INSTANT),
  text("to", "The same; default now.", INSTANT),
];
const BUCKET = text("bucket", "Width of a bucket: 5m, 1h, 1d. Chosen by the window when absent.", {
  pattern: "^[1-9][0-9]{0,3}[mhd]$",
});
const stats = (summary: string): Operation => ({
  summary,
  query: [...WINDOW, BUCKET, list("source", "Source name"), list("errorCode", "Error code")],
  answers: 200,
});
const BULK_STATE = `(${BULK_STATES.join("|")})`;
const REDRIVE_STATE = `(${REDRIVE_STATES.join("|")})`;

const PATHS: Paths = {
  "/api/v1/events": {
    get: { summary: "List events, newest first", filter: true, query: PAGE, answers: 200 },
    post: {
      summary:
        "Park events: one, an array, { events }, NDJSON (application/x-ndjson), or CloudEvents structured, binary, batch",
      query: [text("source", "Source of events that name none")],
      body: eventInSchema,
      answers: 202,
    },
  },
  "/api/v1/events/count": { get: { summary: "How many match", filter: true, answers: 200 } },
  "/api/v1/events/meanings": {
    get: {
      summary: "What a text names: an event, an aggregate, a trace, an error code",
      query: [{ ...text("text", "What a person typed or pasted", { ...FREE_TEXT, pattern: "\\S" }), required: true }],
      answers: 200,
    },
  },
  "/api/v1/events/export": {
    get: {
      summary: "All that match, as a stream",
      filter: true,
      query: [text("format", "ndjson or csv", { enum: ["ndjson", "csv"] })],
      answers: 200,
      type: ["application/x-ndjson", "text/csv"],
    },
  },
  "/api/v1/events/confirm": {
    post: {
      summary: "Say that a consumer processed events: by its ids, or a selection with a reason",
      body: confirmRequestSchema,
      answers: 202,
    },
  },
  "/api/v1/events/ignore": {
    post: { summary: "Ignore events; says how many are being sent", body: bulkChangeSchema, answers: 202 },
  },
  "/api/v1/events/release": { post: { summary: "Release ignored events", body: releaseSchema, answers: 202 } },
  "/api/v1/events/{id}": { get: { summary: "One event with body, headers, error, origin and history", answers: 200 } },
  "/api/v1/events/{id}/payload": {
    get: { summary: "The exact bytes of a payload", answers: 200, type: "application/octet-stream" },
  },
  "/api/v1/events/{id}/neighbours": {
    get: { summary: "Previous and next in the filtered list", filter: true, answers: 200 },
  },
  "/api/v1/groups": { get: { summary: "Groups with events that match", filter: true, query: PAGE, answers: 200 } },
  "/api/v1/operations": {
    get: {
      summary: "List bulk operations: ignores, releases and confirms of more than 2,000 events",
      query: [...PAGE, text("state", "States, comma-separated", { pattern: `^${BULK_STATE}(,${BULK_STATE})*$` })],
      answers: 200,
    },
  },
  "/api/v1/operations/{id}": {
    get: { summary: "One bulk operation with its progress", answers: 200 },
    patch: {
      summary: "Cancel it: what it has changed stays changed",
      body: bulkOperationChangeSchema,
      answers: 200,
    },
  },
  "/api/v1/redrives/preview": {
    post: { summary: "What a redrive would do", body: previewRequestSchema, answers: 200 },
  },
  "/api/v1/redrives": {
    get: {
      summary: "List redrives",
      query: [
        ...PAGE,
        text("state", "States, comma-separated, or live", { pattern: `^(live|${REDRIVE_STATE}(,${REDRIVE_STATE})*)$` }),
      ],
      answers: 200,
    },
    post: { summary: "Redrive or verify events; takes an Idempotency-Key", body: redriveRequestSchema, answers: 202 },
  },
  "/api/v1/redrives/{id}": {
    get: { summary: "One redrive", answers: 200 },
    patch: {
      summary: "Pause, resume, cancel (says how many sends are under way), or change its rate or lane",
      body: redriveChangeSchema,
      answers: 200,
    },
  },
  "/api/v1/redrives/{id}/items": {
    get: {
      summary: "Its events by outcome",
      query: [...PAGE, text("state", "Outcome", { enum: [...ITEM_STATES] }), text("result", "Reason or code", {})],
      answers: 200,
    },
  },
  "/api/v1/redrives/{id}/rate": { get: { summary: "Sends over time", answers: 200 } },
  "/api/v1/redrives/{id}/causes": { get: { summary: "Failures and refusals by cause, with samples", answers: 200 } },
  "/api/v1/controls": {
    get: {
      summary: "Controls",
      query: [...PAGE, text("state", "In force, or ended; default all", { enum: ["live", "ended"] })],
      answers: 200,
    },
    post: {
      summary: "Impose a control; says how many sends that it covers are under way",
      body: controlRequestSchema,
      answers: 201,
    },
  },
  "/api/v1/controls/{id}": { delete: { summary: "Lift a control", answers: 200 } },
  "/api/v1/sources": {
    get: { summary: "Sources", query: PAGE, answers: 200 },
    post: { summary: "Create a source with its two targets", body: sourceRequestSchema, answers: 201 },
  },
  "/api/v1/sources/probe": {
    post: { summary: "Probe a configuration before it is stored", body: probeRequestSchema, answers: 200 },
  },
  "/api/v1/sources/{name}": {
    get: { summary: "One source", answers: 200 },
    patch: { summary: "Change a source", body: sourceChangeSchema, answers: 200 },
    delete: { summary: "Delete a source that has no events", answers: 204 },
  },
  "/api/v1/sources/{name}/probe": { post: { summary: "Can it be reached, and what would be read?", answers: 200 } },
  "/api/v1/targets": { get: { summary: "Targets with the live state of their engines", answers: 200 } },
  "/api/v1/targets/{name}": {
    get: { summary: "One target", answers: 200 },
    patch: { summary: "Change a target", body: targetChangeSchema, answers: 200 },
  },
  "/api/v1/policies": { get: { summary: "Retry policies", answers: 200 } },
  "/api/v1/policies/{name}": {
    get: { summary: "One policy with its versions", answers: 200 },
    put: { summary: "Store a new version of a policy", body: policyRequestSchema, answers: 200 },
  },
  "/api/v1/settings": {
    get: { summary: "Settings with their bounds", answers: 200 },
    patch: { summary: "Change settings", body: settingsChangeSchema, answers: 200 },
  },
  "/api/v1/audit/{id}/events": { get: { summary: "The events that an audit entry covers", query: PAGE, answers: 200 } },
  "/api/v1/audit": {
    get: {
      summary: "The audit, newest first",
      query: [
        ...PAGE,
        ...WINDOW,
        text("actor", "Who did it", SOME_TEXT),
        text("action", "Whole, or the part before a dot: event is every event.*", SOME_TEXT),
        text("subjectKind", "What it was done to", { enum: [...AUDIT_SUBJECTS] }),
        text("subjectId", "Its id or name", SOME_TEXT),
        text("eventId", "An event's id, or its eventId", SOME_TEXT),
        text("redriveId", "Of a redrive", UUID),
      ],
      answers: 200,
    },
  },
  "/api/v1/saved-views": {
    get: { summary: "Saved views", answers: 200 },
    post: { summary: "Save a filter under a name", body: savedViewRequestSchema, answers: 201 },
  },
  "/api/v1/saved-views/{id}": { delete: { summary: "Delete a saved view", answers: 204 } },
  "/api/v1/stats/size": { get: stats("dlq_size over time, by error code") },
  "/api/v1/stats/flow": { get: stats("Events in and out over time") },
  "/api/v1/stats/age": { get: stats("Age of what is parked: p50, p95, oldest") },
  "/api/v1/stats/top-errors": { get: stats("Error codes: what arrived in the window; without one, what is parked") },
  "/api/v1/stats/redrive-success": { get: stats("Confirmed of what is settled") },
  "/api/v1/stats/markers": { get: { summary: "Redrives and controls of the window", query: WINDOW, answers: 200 } },
  "/api/v1/status": { get: { summary: "What flows now, and whether the machine is well", answers: 200 } },
  "/ops/dlq/redrive": {
    post: {
      summary: "Redrive in one call, for scripts and runbooks: a second identical call redrives nothing twice",
      filter: true,
      query: [
        text("lane", "Default slow", { enum: ["main", "slow"] }),
        text("mode", "Default deliver", { enum: ["deliver", "verify"] }),
        {
          name: "ratePerSecond",
          in: "query",
          schema: { type: "number", exclusiveMinimum: 0, maximum: 100_000 },
          description: "Events per second; default the rate of the target",
        },
        text("earlier", "What becomes of earlier versions that are parked; default hold", {
          enum: [...EARLIER_CHOICES],
        }),
        text("reason", "Why; kept in the audit", { maxLength: 2_000 }),
      ],
      answers: 202,
    },
  },
  "/metrics": { get: { summary: "Prometheus text", answers: 200, type: "text/plain" } },
  "/healthz": { get: { summary: "This process answers", answers: 200 } },
  "/readyz": {
    get: { summary: "Store and queue take writes, migrations are applied, a worker is alive", answers: 200 },
  },
};

const PROBLEM: Json = {
  type: "object",
  required: ["type", "title", "status", "code", "detail", "instance"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string", enum: [...PROBLEM_CODES] },
    detail: { type: "string" },
    instance: { type: "string" },
    errors: {
      type: "array",
      items: { type: "object", properties: { field: { type: "string" }, detail: { type: "string" } } },
    },
  },
  "x-status-by-code": STATUS,
};

/** A parameter that may be given several times: any of its values may match. */
function list(name: string, description: string, items: Json = FREE_TEXT): Json {
  return {
    name,
    in: "query",
    explode: true,
    description,
    schema: { type: "array", maxItems: 100, items: { type: "string", ...items } },
  };
}

function filterParameters(): Json[] {
  const single = ["from", "to", "q"];
  return [
    ...FILTER_NAMES.filter((name) => !single.includes(name)).map((name) =>
      list(name, `Any of these`, name === "status" ? { enum: [...FILTER_STATUSES] } : FREE_TEXT),
    ),
    ...WINDOW,
    text("q", "Words of the error; all must occur", { ...FREE_TEXT, pattern: WORD_PATTERN }),
    text("tag.{key}", "A tag of the event, e.g. tag.orderId=77; repeatable"),
  ];
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string", ...(name === "id" ? UUID : { minLength: 1, maxLength: 100 }) },
  }));
}

function operationOf(path: string, operation: Operation): Json {
  const { summary, filter, query = [], body, answers, type = "application/json" } = operation;
  return {
    summary,
    parameters: [...pathParameters(path), ...(filter ? filterParameters() : []), ...query],
    ...(body ? { requestBody: { required: true, content: { "application/json": { schema: schemaOf(body) } } } } : {}),
    responses: {
      [answers]: {
        description: "Success",
        ...(answers === 204 ? {} : { content: Object.fromEntries([type].flat().map((one) => [one, {}])) }),
      },
      default: {
        description: "Problem (RFC 9457)",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

/** What a client sends. Where a check cannot be said in JSON Schema, the contract registers a pattern beside it. */
function schemaOf(schema: z.core.$ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => oneOrList(zodSchema, jsonSchema),
  }) as Json;
  if (schema === eventInSchema) return eventBody(json);
  return schema === controlRequestSchema ? controlBody(json) : json;
}

/** A cooldown must end. */
function controlBody({ properties, required, ...json }: Json): Json {
  const time = { type: "string", format: "date-time" };
  const of = (kinds: string[], expiresAt: Json, more: string[]): Json => ({
    ...json,
    properties: { ...(properties as Json), kind: { enum: kinds }, expiresAt },
    required: [...(required as string[]), ...more],
  });
  return {
    anyOf: [
      of(["blacklist", "whitelist"], { anyOf: [time, { type: "null" }] }, []),
      of(["cooldown"], time, ["expiresAt"]),
    ],
  };
}

/** A list that also takes one value alone, see `valuesOf` in the filter's contract: zod shows the list alone. */
function oneOrList(schema: z.core.$ZodTypes, json: Json): void {
  const { def } = schema._zod;
  if (def.type !== "pipe" || def.in._zod.def.type !== "transform" || json.type !== "array") return;
  const list = { ...json };
  for (const name of Object.keys(json)) delete json[name];
  json.anyOf = [list.items, list];
}

const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/** `payload`, `payloadBase64` and `version` are read from the bytes of the request, past the schema. */
function eventBody({ properties, required, ...json }: Json): Json {
  return {
    ...json,
    properties: {
      ...(properties as Json),
      version: {
        anyOf: [
          { type: "integer", minimum: 0, maximum: 2 ** 53 },
          { type: "string", pattern: "^[0-9]{1,18}$" },
        ],
      },
      failedAt: {
        anyOf: [
          { type: "null" },
          { type: "string", pattern: WALL_TIME_PATTERN },
          { type: "number", minimum: 0, maximum: 253_402_300_799_999 },
        ],
      },
      payloadBase64: { type: "string", contentEncoding: "base64", pattern: BASE64 },
    },
    required: ["source", ...(required as string[])],
    oneOf: [
      { required: ["payload"], properties: { payloadBase64: false } },
      { required: ["payloadBase64"], properties: { payload: false } },
    ],
  };
}

export function openapiDocument(): Json {
  const paths = Object.entries(PATHS).map(([path, operations]) => [
    path,
    Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, operationOf(path, operation)])),
  ]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Parkade",
      version: "1",
      description: "Dead letters: park, find, verify, redrive, ignore. Times are ISO 8601 UTC; lists are keyset-paged.",
    },
    paths: Object.fromEntries(paths),
    components: { schemas: { Problem: PROBLEM } },
  };
}

/** Every path and method, for the test that holds them against the routes. */
export function documentedRoutes(): string[] {
  return Object.entries(PATHS).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
}
