import * as z from "zod/mini";
import { idOut, named, nullableText, reasonSchema, timeOut } from "@/lib/platform/api/schemas.shapes";

/** How a version came: a person sent it, it was inferred from events, or it stood in the source's settings. */
export const SCHEMA_ORIGINS = ["uploaded", "inferred", "source"] as const;

/** Characters of one text that is checked: what the editor holds at most. */
const TEXT_MAX = 4_000_000;
/** Faults that one check names. */
export const FAULTS_MAX = 50;
/** Events from which a schema is inferred, and on which one is tried. */
const INFER_EVENTS_MAX = 5_000;
export const TRY_EVENTS_MAX = 1_000;

const eventTypeSchema = z.nullish(
  z.string("must be the type of events; leave it out for all other types").check(z.minLength(1), z.maxLength(512)),
);
const object = z.record(z.string(), z.unknown(), "must be a JSON Schema: an object");

const schemaFields = {
  id: idOut,
  source: z.string(),
  /** null = of the types that have no schema of their own. */
  eventType: nullableText,
  /** Counts the versions of its event type from 1. */
  version: z.int(),
  /** It is in force. None of a type's versions is when its schema was retired. */
  current: z.boolean(),
  origin: z.enum(SCHEMA_ORIGINS),
  /** Of an inferred version: the events it was read from. */
  eventsRead: z.nullable(z.int()),
  reason: nullableText,
  createdBy: z.string(),
  createdAt: timeOut,
  bytes: z.int(),
};
const BODY = { type: "object", required: ["amount"], properties: { amount: { type: "integer" } } };

const schemaVersionSchema = named("SchemaVersion", z.object(schemaFields));
export type SchemaVersion = z.infer<typeof schemaVersionSchema>;

/** GET /api/v1/sources/{name}/schemas: of each event type the version in force, else the newest one. */
export const schemaListSchema = named(
  "SchemaList",
  z.object({ items: z.array(z.object({ ...schemaFields, versions: z.int() })) }),
);
export type SchemaList = z.infer<typeof schemaListSchema>;

/** GET /api/v1/schemas/{id}: one version with its text, and all versions of its event type, newest first. */
export const schemaDetailSchema = named(
  "SchemaVersionDetail",
  z.object({ ...schemaFields, schema: z.record(z.string(), z.unknown()), versions: z.array(schemaVersionSchema) }),
);
export type SchemaVersionDetail = z.infer<typeof schemaDetailSchema>;

/** POST /api/v1/sources/{name}/schemas: stores a version and makes it current. */
export const schemaRequestSchema = named(
  "SchemaRequest",
  z.strictObject({
    eventType: eventTypeSchema,
    schema: object,
    /** Of a schema that Parkade inferred: the number of events that it was read from. */
    eventsRead: z.nullish(z.int("must be a whole number").check(z.gte(1), z.lte(INFER_EVENTS_MAX))),
    reason: reasonSchema,
  }),
  { eventType: "OrderCreated", schema: BODY, reason: "amount became a number" },
);
export type SchemaRequest = z.infer<typeof schemaRequestSchema>;

/** PATCH /api/v1/schemas/{id}: true = in force again, in place of the present one; false = retired. */
export const schemaChangeSchema = named(
  "SchemaChange",
  z.strictObject({ current: z.boolean("must be true or false"), reason: reasonSchema }),
  { current: true, reason: "version 4 refused what its consumer accepts" },
);
export type SchemaChange = z.infer<typeof schemaChangeSchema>;

/** POST /api/v1/schemas/check. `schema`: a draft in place of the one in force. */
export const schemaCheckRequestSchema = named(
  "SchemaCheckRequest",
  z.strictObject({
    source: z.string("must be the name of a source"),
    eventType: eventTypeSchema,
    text: z.string("must be text").check(z.maxLength(TEXT_MAX, `at most ${TEXT_MAX} characters`)),
    schema: z.nullish(object),
  }),
  { source: "orders", eventType: "OrderCreated", text: '{"amount": "12"}' },
);
export type SchemaCheckRequest = z.infer<typeof schemaCheckRequestSchema>;

const schemaFaultSchema = z.object({
  /** JSON pointer into the payload; "" = the whole payload. */
  pointer: z.string(),
  keyword: z.string(),
  detail: z.string(),
  /** What a person can do about it. */
  fix: z.string(),
});

/** The version that judged; `id` null = a draft. */
const judgedBySchema = z.nullable(z.object({ id: z.nullable(idOut), eventType: nullableText, version: z.int() }));

/** `ok` null = not checked, and `detail` says why. */
export const schemaCheckSchema = named(
  "SchemaCheck",
  z.object({
    /** The text is valid JSON. */
    parses: z.object({ ok: z.nullable(z.boolean()), detail: z.string() }),
    ok: z.nullable(z.boolean()),
    detail: z.string(),
    /** The schema took too long to decide. */
    tooSlow: z.boolean(),
    judgedBy: judgedBySchema,
    /** At most 50; `moreFaults`: there are others. */
    faults: z.array(schemaFaultSchema),
    moreFaults: z.boolean(),
  }),
);
export type SchemaCheckOut = z.infer<typeof schemaCheckSchema>;

/** POST /api/v1/sources/{name}/schemas/infer. Nothing is stored. */
export const inferRequestSchema = named(
  "InferRequest",
  z.strictObject({
    eventType: eventTypeSchema,
    /** Newest events at most. */
    events: z._default(
      z.int("must be a whole number").check(z.gte(1), z.lte(INFER_EVENTS_MAX, `at most ${INFER_EVENTS_MAX}`)),
      1_000,
    ),
  }),
  { eventType: "OrderCreated", events: 1_000 },
);
export type InferRequest = z.infer<typeof inferRequestSchema>;

const trialPart = z.object({
  /** Events that were read: the newest ones. */
  checked: z.int(),
  passed: z.int(),
  failed: z.int(),
  /** The schema took too long, the payload is not JSON, or it has something masked and the viewer may not reveal. */
  undecided: z.int(),
  /** Some of those that failed. */
  samples: z.array(z.object({ id: idOut, eventId: z.string(), faults: z.array(schemaFaultSchema) })),
});
const trialShape = { parked: trialPart, delivered: trialPart };
/** POST /api/v1/sources/{name}/schemas/try: how the newest parked and redriven events fare. Nothing is stored. */
export const schemaTryRequestSchema = named(
  "SchemaTryRequest",
  z.strictObject({ eventType: eventTypeSchema, schema: object }),
  { eventType: "OrderCreated", schema: BODY },
);
export type SchemaTryRequest = z.infer<typeof schemaTryRequestSchema>;
export const schemaTrialSchema = named("SchemaTrial", z.object(trialShape));
export type SchemaTrial = z.infer<typeof schemaTrialSchema>;

export const inferredSchemaSchema = named(
  "InferredSchema",
  z.object({
    /** null = no event that went through could be read. */
    schema: z.nullable(z.record(z.string(), z.unknown())),
    /** Events that were delivered and have not come back. */
    eventsRead: z.int(),
    /** Of them, those whose consumer confirmed them. */
    confirmed: z.int(),
    /** Events that are no JSON, or too large to be read. */
    skipped: z.int(),
    /** JSON pointers of the fields that only some of the events have. */
    optional: z.array(z.string()),
  }),
);
export type InferredSchema = z.infer<typeof inferredSchemaSchema>;
