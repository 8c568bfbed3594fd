import * as z from "zod";
import { confirmRequestSchema } from "@/lib/contract/confirm";
import { controlRequestSchema } from "@/lib/contract/controls";
import { FILTER_NAMES, FILTER_STATUSES } from "@/lib/contract/event-filter";
import { eventInSchema } from "@/lib/contract/event-in";
import { previewRequestSchema, redriveChangeSchema, redriveRequestSchema } from "@/lib/contract/redrives";
import { savedViewRequestSchema } from "@/lib/contract/saved-views";
import { bulkChangeSchema, releaseSchema } from "@/lib/contract/selection";
import { probeRequestSchema, sourceChangeSchema, sourceRequestSchema } from "@/lib/contract/sources";
import { policyRequestSchema, settingsChangeSchema, targetChangeSchema } from "@/lib/contract/targets";
import { PROBLEM_CODES } from "@/lib/core/problem";
import { STATUS } from "./problem";

/** The API as OpenAPI 3.1: request bodies come from the very schemas that parse them. */

type Json = Record<string, unknown>;
type Operation = {
  summary: string;
  filter?: boolean;
  query?: Json[];
  body?: z.core.$ZodType;
  answers: number;
  type?: string;
};
type Paths = Record<string, Record<string, Operation>>;

const text = (name: string, description: string): Json => ({
  name,
  in: "query",
  schema: { type: "string" },
  description,
});
const PAGE = [
  { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 500, default: 50 } },
  text("cursor", "`nextCursor` or `prevCursor` of a page before."),
];
const WINDOW = [text("from", "ISO 8601, epoch milliseconds, or relative: -24h"), text("to", "The same; default now.")];
const BUCKET = text("bucket", "Width of a bucket: 5m, 1h, 1d. Chosen by the window when absent.");
const stats = (summary: string): Operation => ({
  summary,
  query: [...WINDOW, BUCKET, text("source", "Source name"), text("errorCode", "Error code")],
  answers: 200,
});

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
      query: [{ ...text("text", "What a person typed or pasted"), required: true }],
      answers: 200,
    },
  },
  "/api/v1/events/export": {
    get: {
      summary: "All that match, as a stream",
      filter: true,
      query: [text("format", "ndjson or csv")],
      answers: 200,
      type: "application/x-ndjson",
    },
  },
  "/api/v1/events/confirm": {
    post: { summary: "Say that a consumer processed events", body: confirmRequestSchema, answers: 202 },
  },
  "/api/v1/events/ignore": { post: { summary: "Ignore events", body: bulkChangeSchema, answers: 202 } },
  "/api/v1/events/release": { post: { summary: "Release ignored events", body: releaseSchema, answers: 202 } },
  "/api/v1/events/{id}": { get: { summary: "One event with body, headers, error, origin and history", answers: 200 } },
  "/api/v1/events/{id}/payload": {
    get: { summary: "The exact bytes of a payload", answers: 200, type: "application/octet-stream" },
  },
  "/api/v1/events/{id}/neighbours": {
    get: { summary: "Previous and next in the filtered list", filter: true, answers: 200 },
  },
  "/api/v1/groups": { get: { summary: "Groups with events that match", filter: true, query: PAGE, answers: 200 } },
  "/api/v1/redrives/preview": {
    post: { summary: "What a redrive would do", body: previewRequestSchema, answers: 200 },
  },
  "/api/v1/redrives": {
    get: {
      summary: "List redrives",
      query: [...PAGE, text("state", "States, comma-separated, or live")],
      answers: 200,
    },
    post: { summary: "Redrive or verify events; takes an Idempotency-Key", body: redriveRequestSchema, answers: 202 },
  },
  "/api/v1/redrives/{id}": {
    get: { summary: "One redrive", answers: 200 },
    patch: { summary: "Pause, resume, cancel, or change its rate or lane", body: redriveChangeSchema, answers: 200 },
  },
  "/api/v1/redrives/{id}/items": {
    get: {
      summary: "Its events by outcome",
      query: [...PAGE, text("state", "Outcome"), text("result", "Reason or code")],
      answers: 200,
    },
  },
  "/api/v1/redrives/{id}/rate": { get: { summary: "Sends over time", answers: 200 } },
  "/api/v1/redrives/{id}/causes": { get: { summary: "Failures and refusals by cause, with samples", answers: 200 } },
  "/api/v1/controls": {
    get: { summary: "Controls", query: PAGE, answers: 200 },
    post: { summary: "Impose a control", body: controlRequestSchema, answers: 201 },
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
  "/api/v1/audit": {
    get: {
      summary: "The audit, newest first",
      query: [
        ...PAGE,
        ...WINDOW,
        ...["actor", "action", "subjectKind", "subjectId", "eventId", "redriveId"].map((name) => text(name, name)),
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
  "/api/v1/stats/top-errors": { get: stats("Error codes by what is parked") },
  "/api/v1/stats/redrive-success": { get: stats("Confirmed of what is settled") },
  "/api/v1/stats/markers": { get: { summary: "Redrives and controls of the window", query: WINDOW, answers: 200 } },
  "/api/v1/status": { get: { summary: "What flows now, and whether the machine is well", answers: 200 } },
  "/ops/dlq/redrive": {
    post: {
      summary: "Redrive in one call, for scripts and runbooks: a second identical call redrives nothing twice",
      query: ["eventId", "aggregateId", "from", "to", "lane"].map((name) => text(name, name)),
      answers: 202,
    },
  },
  "/metrics": { get: { summary: "Prometheus text", answers: 200, type: "text/plain" } },
  "/healthz": { get: { summary: "This process answers", answers: 200 } },
  "/readyz": { get: { summary: "Store, queue and migrations are ready", answers: 200 } },
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

function filterParameters(): Json[] {
  const list = (name: string): Json => ({
    name,
    in: "query",
    explode: true,
    schema: {
      type: "array",
      items: name === "status" ? { type: "string", enum: [...FILTER_STATUSES] } : { type: "string" },
    },
  });
  const single = ["from", "to", "q"];
  return [
    ...FILTER_NAMES.filter((name) => !single.includes(name)).map(list),
    ...WINDOW,
    text("q", "Words of the error; all must occur"),
    text("tag.{key}", "A tag of the event, e.g. tag.orderId=77; repeatable"),
  ];
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function operationOf(path: string, operation: Operation): Json {
  const { summary, filter, query = [], body, answers, type = "application/json" } = operation;
  return {
    summary,
    parameters: [...pathParameters(path), ...(filter ? filterParameters() : []), ...query],
    ...(body ? { requestBody: { required: true, content: { "application/json": { schema: schemaOf(body) } } } } : {}),
    responses: {
      [answers]: { description: "Success", ...(answers === 204 ? {} : { content: { [type]: {} } }) },
      default: {
        description: "Problem (RFC 9457)",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

/** What a client sends. A transform (one value or a list, tags by name) accepts more than a schema can tell: anything. */
function schemaOf(schema: z.core.$ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
  return json;
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
