type Json = Record<string, unknown>;
type Schemas = Record<string, Json>;

const COMPONENTS = "#/components/schemas/";
const TIME = "2026-11-22T02:44:59.120Z";

/** What members of these names hold in every example: they tell of one redrive of twelve events that timed out. */
const VALUES: Json = {
  source: "orders",
  name: "orders",
  target: "orders",
  sources: ["orders"],
  callers: ["orders"],
  worker: "worker-1",
  aggregateId: "order-77",
  aggregateType: "order",
  eventId: "order-77-v3",
  eventType: "OrderCreated",
  version: 3,
  errorCode: "TIMEOUT",
  lastErrorCode: "TIMEOUT",
  exceptionType: "TimeoutException",
  firstFrame: "StockClient.reserve",
  message: "stock service did not answer within 2000 ms",
  lastError: "stock service did not answer within 2000 ms",
  errorCodes: ["TIMEOUT"],
  fingerprint: "9f1c2b3a4d5e6f70",
  pattern: "stock service did not answer within # ms",
  contentType: "application/json",
  headers: [["content-type", "application/json"]],
  tags: { orderId: "77" },
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  text: '{"orderId":77}',
  base64: "eyJvcmRlcklkIjo3N30=",
  bytes: 14,
  reason: "stock service is back",
  createdBy: "maria",
  updatedBy: "maria",
  actor: "maria",
  by: "maria",
  sentence: "orders: 1,240 events arrived in 15 min, 41 × the usual 30",
  rule: "More arrivals than usual",
  email: "maria@example.com",
  role: "operator",
  address: "192.0.2.7",
  agent: "Mozilla/5.0",
  action: "event.ignored",
  place: "/var/lib/parkade/archive",
  url: "https://ops.example.com/alerts",
  policyName: "default",
  pointer: "/amount",
  state: "DONE",
  status: "PENDING",
  kind: "http",
  payloadBytes: 14,
  revision: 1,
  enabled: true,
  total: 12,
  delivered: 12,
  sent: 12,
  unknown: 12,
  parked: 12,
  count: 12,
  value: 12,
  waitsFor: [],
  despite: [],
  tell: [],
  plainSecrets: [],
  PENDING: 12,
  attempts: 5,
  ratePerSecond: 5,
  days: 30,
  plannedAt: TIME,
  startedAt: TIME,
  finishedAt: TIME,
  lastAttemptAt: TIME,
  failedAt: TIME,
  firstFailedAt: TIME,
  trend: [0, 0, 12],
};

/** Nullable members that most things do not have; times neither, unless they are named above. */
const ABSENT = new Set(
  "approval brake brakeSeen canary contract control decoded heldBehind heldBy mute stalled unstored".split(" "),
);

/** Texts that have a form. */
const FORMED = ["019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60", TIME, "2026-11-25", "https://orders.example/events"];
const BY_FORMAT: Json = { uuid: FORMED[0], "date-time": TIME, date: FORMED[2], uri: FORMED[3] };

/** Gives each named object of `schemas` an example that has none: made of the examples of its parts. */
export function giveExamples(schemas: Schemas): void {
  const missing = Object.entries(schemas).filter(([, { type, examples }]) => type === "object" && !examples);
  const made = missing.map(([name, schema]) => [schema, exampleOf(schema, name, schemas)] as const);
  for (const [schema, example] of made) schema.examples = [example];
}

function exampleOf(schema: Json, name: string, schemas: Schemas): unknown {
  const part = (of: unknown, named = name) => exampleOf(of as Json, named, schemas);
  const { $ref, const: only, examples, anyOf, oneOf = anyOf, enum: words, properties, items } = schema;
  if (typeof $ref === "string") return part(schemas[$ref.slice(COMPONENTS.length)]);
  if (only !== undefined) return only;
  if (Array.isArray(examples)) return examples[0];
  if (properties === undefined && fits(schema, VALUES[name])) return VALUES[name];
  if (Array.isArray(words)) return words[0];
  const types = [schema.type].flat();
  const isAbsent = ABSENT.has(name) || (/(At|Until)$/.test(name) && !(name in VALUES));
  if (Array.isArray(oneOf)) return part(oneOf.find(({ type }) => (type === "null") === isAbsent) ?? oneOf[0]);
  if (types.includes("null") && (isAbsent || properties === undefined)) return null;
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties as Json).map(([member, of]) => [member, part(of, member)]));
  switch (types[0]) {
    case "array":
      return items === undefined ? [] : [part(items)];
    case "object":
      return recordOf(schema, part);
    case "boolean":
      return false;
    case "integer":
    case "number":
      return Math.max(Number(schema.minimum ?? schema.exclusiveMinimum ?? 0), name.endsWith("Ms") ? 60_000 : 0);
    case "string":
      return BY_FORMAT[String(schema.format)] ?? [name, ...FORMED].find((text) => fits(schema, text));
    default:
      return {};
  }
}

function fits({ type, pattern, format, minimum = 0, enum: words }: Json, value: unknown): boolean {
  if (Array.isArray(words)) return words.includes(value);
  const is = Array.isArray(value) ? "array" : typeof value;
  if (![type].flat().some((one) => one === is || (one === "integer" && Number.isInteger(value)))) return false;
  if (typeof value === "number" && value < Number(minimum)) return false;
  if (format !== undefined && format !== "date-time") return false;
  return pattern === undefined || new RegExp(String(pattern), "u").test(String(value));
}

function recordOf({ propertyNames, additionalProperties }: Json, part: (of: unknown) => unknown): Json {
  if (typeof additionalProperties !== "object") return {};
  const [name = "TIMEOUT"] = (propertyNames as { enum?: string[] } | undefined)?.enum ?? [];
  return { [name]: part(additionalProperties) };
}
