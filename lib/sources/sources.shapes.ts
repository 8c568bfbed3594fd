import * as z from "zod/mini";
import { KNOWN_DAYS, SAMPLE_CHARS_MAX } from "@/lib/brokers/source-limits.pure";
import { CONSUMER_STATES, SOURCE_MODES } from "@/lib/brokers/source-mode.pure";
import {
  headersSchema,
  idOut,
  named,
  nullableNumber,
  nullableText,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import {
  contractOutSchema,
  sourceContractOutSchema,
  sourceContractSchema,
} from "@/lib/sources/contracts/contracts.shapes";
import { linkTemplatesSchema } from "@/lib/sources/links/links.shapes";
import { LINK_KINDS } from "@/lib/sources/links/source-links.pure";
import { fallbackSchema } from "@/lib/sources/targets/targets.shapes";

/** `<name>.slow` is the name of the slow lane's target, `probe` a path of its own. */
const RESERVED = /(\.slow|^probe)$/;

/** A name stands in URLs, target names and Idempotency-Keys, and never changes. */
const name = z.string("must be text").check(
  z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be 1 to 100 letters, digits, dots, underscores or hyphens"),
  z.refine((text) => !RESERVED.test(text), "is reserved: choose another"),
);
z.globalRegistry.add(name, { not: { pattern: RESERVED.source } });
const object = z.record(z.string(), z.unknown(), "must be an object");

const STORM_RULE = "must be a whole number from 1 to 1000000, or null to store all";
const stormPerMinute = z.nullable(z.int(STORM_RULE).check(z.minimum(1, STORM_RULE), z.maximum(1_000_000, STORM_RULE)));

const KNOWN_RULE = `must be a whole number of days from ${KNOWN_DAYS.min} to ${KNOWN_DAYS.max}, or null for forever`;
const knownDays = z.nullable(
  z.int(KNOWN_RULE).check(z.minimum(KNOWN_DAYS.min, KNOWN_RULE), z.maximum(KNOWN_DAYS.max, KNOWN_RULE)),
);

const mode = z.enum(SOURCE_MODES, `must be ${SOURCE_MODES.slice(0, -1).join(", ")} or ${SOURCE_MODES.at(-1)}`);

/** POST /api/v1/sources. `config` is checked by kind, see `source-config.ts`. */
export const sourceRequestSchema = named(
  "SourceRequest",
  z.strictObject({
    name,
    kind: z.string("must be text"),
    config: z._default(object, {}),
    /** JSON Schema (2020-12) that payloads must match to be redriven; null = they only have to parse. */
    payloadSchema: z.nullish(object),
    /** false = the mode `stopped`. */
    enabled: z._default(z.boolean("must be true or false"), true),
    /** How it begins; wins over `enabled`. */
    mode: z.optional(mode),
    /** Events of one group in a minute that are stored whole; above it a sample is, and the rest is counted. null = all are stored. */
    stormPerMinute: z.optional(stormPerMinute),
    /** Days for which a repeat or a bounce of an event that has left the store is recognised; null = for good, absent = 400. */
    knownDays: z.optional(knownDays),
    /** Addresses with placeholders that lead from an event to its log and its trace. */
    links: z.optional(linkTemplatesSchema),
    /** Whether its two lanes may send an event again that may have arrived. Absent = false: only a send that found no target is repeated. */
    retryable: z.optional(z.boolean("must be true or false")),
  }),
  { name: "orders", kind: "http", config: { redriveUrl: "https://orders.example/events" } },
);
export type SourceRequest = z.infer<typeof sourceRequestSchema>;

/** PATCH /api/v1/sources/{name}: absent = unchanged. Masked values sent back as they were shown stay as stored. */
export const sourceChangeSchema = named(
  "SourceChange",
  z.strictObject({
    config: z.optional(object),
    payloadSchema: z.optional(z.nullable(object)),
    /** false = the mode `stopped`; true = `running`, unless the source is paused or draining. `mode` wins over it. */
    enabled: z.optional(z.boolean("must be true or false")),
    mode: z.optional(mode),
    /** true = each redrive or mend of its events needs the approval of a second person. */
    needsApproval: z.optional(z.boolean("must be true or false")),
    stormPerMinute: z.optional(stormPerMinute),
    knownDays: z.optional(knownDays),
    links: z.optional(linkTemplatesSchema),
    /** The whole contract, checked by GET /api/v1/sources/{name}/contract; null = none. */
    contract: z.optional(z.nullable(sourceContractSchema)),
    reason: z.optional(reasonSchema),
  }),
  { mode: "draining", reason: "moved to another broker" },
);
export type SourceChange = z.infer<typeof sourceChangeSchema>;

/** A preview takes a few samples: it runs with each change of a form. */
const SAMPLES_MAX = 10;

export const probeRequestSchema = named(
  "ProbeRequest",
  z.strictObject({ kind: z.string("must be text"), config: z._default(object, {}) }),
  { kind: "http", config: { redriveUrl: "https://orders.example/events" } },
);
export type ProbeRequest = z.infer<typeof probeRequestSchema>;

const consumerWord = z.enum(CONSUMER_STATES);

const sourceConsumerSchema = named(
  "SourceConsumer",
  z.object({
    worker: z.string(),
    state: consumerWord,
    since: timeOut,
    /** Of the report: workers report every two seconds. */
    at: timeOut,
    /** The worker has seen the present mode of the source. */
    obeysMode: z.boolean(),
    lag: nullableNumber,
    /** Events since this consumer began. */
    parked: z.int(),
    /** Events parked per second over the last minute. */
    ratePerSecond: nullableNumber,
    /** The last error, also when it is over. */
    lastError: nullableText,
    lastErrorAt: z.nullable(timeOut),
    /** null = the last error lasts. */
    recoveredAt: z.nullable(timeOut),
    retryAt: z.nullable(timeOut),
    /** The parts with the most lag; `partCount` counts all. */
    parts: z.array(
      z.object({
        name: z.string(),
        lag: nullableNumber,
        /** Events parked of it per second over the last minute; null = unknown. */
        ratePerSecond: nullableNumber,
        /** Messages of it that cannot be committed and stay in the broker. */
        setAside: z.int(),
      }),
    ),
    partCount: z.int(),
  }),
);
export type SourceConsumerOut = z.infer<typeof sourceConsumerSchema>;

/** GET /api/v1/sources[/{name}]. Secrets are references (env:NAME) or masked, never values. */
export const sourceSchema = named(
  "Source",
  z.object({
    id: idOut,
    name: z.string(),
    kind: z.string(),
    config: z.record(z.string(), z.unknown()),
    /** Where `config` has a secret that is no reference, such as `config.password`: it lies in the store as it was typed. */
    plainSecrets: z.array(z.string()),
    payloadSchema: z.nullable(z.record(z.string(), z.unknown())),
    /** The mode is not `stopped`. */
    enabled: z.boolean(),
    mode: z.enum(SOURCE_MODES),
    modeAt: timeOut,
    /** null = nobody has changed the mode since the source was made. */
    modeBy: nullableText,
    modeReason: nullableText,
    /** Each redrive or mend of its events needs the approval of a second person. */
    needsApproval: z.boolean(),
    /** Both of its lanes may send an event again that may have arrived; false = one of them repeats only a send that found no target. */
    retryable: z.boolean(),
    /** Events of one group in a minute that are stored whole; null = all are stored. */
    stormPerMinute: nullableNumber,
    /** Days for which a repeat or a bounce of an event that has left the store is recognised; null = for good. */
    knownDays: nullableNumber,
    /** Addresses with placeholders that lead from an event to its log and its trace. */
    links: z.array(z.object({ label: z.string(), kind: z.enum(LINK_KINDS), url: z.string() })),
    /** What is promised of its dead letters; null = nothing. */
    contract: z.nullable(sourceContractOutSchema),
    createdAt: timeOut,
    updatedAt: timeOut,
    /** The worst of its consumers; null = no worker reports. */
    state: z.nullable(
      z.object({
        state: consumerWord,
        since: timeOut,
        at: timeOut,
        lag: nullableNumber,
        /** Of a consumer whose error lasts. */
        lastError: nullableText,
        retryAt: z.nullable(timeOut),
        ratePerSecond: nullableNumber,
        workers: z.int(),
      }),
    ),
    parked: z.nullable(z.int()),
    /** Its events in the store, whatever their state; 0 = none has arrived, or none is kept. */
    events: z.int(),
    /** Of one source alone, not of the list. */
    consumers: z.optional(z.array(sourceConsumerSchema)),
  }),
);
export type SourceOut = z.infer<typeof sourceSchema>;
export const sourceListSchema = pageOut(sourceSchema);
export type SourceList = z.infer<typeof sourceListSchema>;

const sampleChars = z
  .string("must be text")
  .check(z.maxLength(SAMPLE_CHARS_MAX, `at most ${SAMPLE_CHARS_MAX} characters`));
const sampledMessage = z.object({
  headers: headersSchema,
  properties: z.record(z.string(), sampleChars),
  /** null: it is no text, or too long for a sample. */
  payload: z.nullable(sampleChars),
});
const factsShape = {
  eventId: z.string(),
  aggregateType: nullableText,
  aggregateId: nullableText,
  version: z.nullable(z.string().check(z.regex(/^-?\d{1,19}$/))),
  eventType: nullableText,
  errorCode: z.string(),
  tags: z.record(z.string(), z.string()),
};
const sampleFacts = z.object(factsShape);
export type SampleFactsOut = z.infer<typeof sampleFacts>;

const probeSampleSchema = z.object({
  ...factsShape,
  errorType: nullableText,
  convention: z.string(),
  contentType: z.string(),
  payloadBytes: z.int(),
  /** The message as a mapping reads it; credentials are masked for who may not reveal them. */
  message: sampledMessage,
  /** The facts without a mapping. */
  customary: sampleFacts,
});
export type ProbeSampleOut = z.infer<typeof probeSampleSchema>;

/** POST /api/v1/sources/{name}/probe and POST /api/v1/sources/probe { kind, config } */
export const probeSchema = named(
  "Probe",
  z.object({
    reachable: z.boolean(),
    detail: z.string(),
    depth: z.nullable(z.int()),
    sample: z.array(probeSampleSchema),
    /** Of a stored source: whether a redrive could be delivered. */
    targets: z.array(z.object({ name: z.string(), reachable: z.boolean(), detail: z.string() })),
  }),
);
export type ProbeOut = z.infer<typeof probeSchema>;

/** POST /api/v1/sources/{name}/probe: absent = the stored configuration. Masked values stand for the stored ones. */
export const storedProbeRequestSchema = named("StoredProbeRequest", z.strictObject({ config: z.optional(object) }), {
  config: { redriveUrl: "https://orders.example/events" },
});

/** POST /api/v1/sources/preview-mapping: `samples` as a probe answered them. */
export const mappingPreviewRequestSchema = named(
  "MappingPreviewRequest",
  z.strictObject({
    mapping: object,
    samples: z
      .array(z.object({ message: sampledMessage, customary: sampleFacts }), "must be a list")
      .check(z.maxLength(SAMPLES_MAX, `at most ${SAMPLES_MAX} samples`)),
  }),
  { mapping: { aggregateId: "/order/id" }, samples: [] },
);
export type MappingPreviewRequest = z.infer<typeof mappingPreviewRequestSchema>;

/** The facts of each sample under the mapping, in their order. */
export const mappingPreviewSchema = named("MappingPreview", z.object({ samples: z.array(sampleFacts) }));
export type MappingPreview = z.infer<typeof mappingPreviewSchema>;

/** How rate tokens are served: by the bucket all workers share, at this worker's share, or not at all. */
export const bucketStateSchema = z.enum(["shared", "local", "unreachable"]);
export type BucketState = z.infer<typeof bucketStateSchema>;

/** Live engine state of one target as the workers last reported it. */
const targetEngineSchema = z.object({
  /** `waitMs`: until the next probe, null when closed or forced. `openRatio`: share of its life open, 0..1. null = no breaker. */
  breaker: z.nullable(
    z.object({
      state: z.enum(["closed", "open", "half-open"]),
      forced: z.boolean(),
      waitMs: nullableNumber,
      openRatio: z.optional(z.number()),
    }),
  ),
  /** Retries the budget still allows now, and the repeats per operation. */
  budget: z.object({ left: z.number(), retryRatio: z.number() }),
  bulkhead: z.object({ inUse: z.int(), queued: z.int(), permits: z.int() }),
  latency: z.object({ p50Ms: nullableNumber, p95Ms: nullableNumber, p99Ms: nullableNumber, samples: z.int() }),
  /** Waits for a token and a place before a send. Absent in reports of older workers. */
  waits: z.optional(
    z.object({ p50Ms: nullableNumber, p95Ms: nullableNumber, p99Ms: nullableNumber, samples: z.int() }),
  ),
  counters: z.record(z.string(), z.number()),
  /** Steps that self-healing has taken, and what they multiply; null = the policy has none. */
  healing: z.optional(z.nullable(z.object({ steps: z.int(), backoffFactor: z.number(), rateFactor: z.number() }))),
  /** The policy in use for the latest redrive. */
  policy: z.optional(z.object({ name: z.string(), version: z.int() })),
  bucket: z.optional(bucketStateSchema),
  asOf: timeOut,
});
export type TargetEngine = z.infer<typeof targetEngineSchema>;

/** What people set of a target. */
const targetSettings = {
  ratePerSecond: nullableNumber,
  burst: nullableNumber,
  bulkhead: z.int(),
  policyName: z.string(),
  retryable: z.boolean(),
  breakerForce: z.nullable(z.enum(["open", "closed"])),
  warmUpMs: z.number(),
  noBursts: z.boolean(),
  fallback: z.nullable(fallbackSchema),
  /** Each redrive to it needs the approval of a second person. */
  needsApproval: z.boolean(),
  /** What is promised of it; null = nothing. */
  contract: z.nullable(contractOutSchema),
};
export type TargetSettings = z.infer<z.ZodMiniObject<typeof targetSettings>>;

export function settingsOf(target: TargetSettings): TargetSettings {
  const names = Object.keys(targetSettings) as (keyof TargetSettings)[];
  return Object.fromEntries(names.map((name) => [name, target[name]])) as TargetSettings;
}

/** GET /api/v1/targets, PATCH /api/v1/targets/{name} */
export const targetSchema = named(
  "Target",
  z.object({
    id: idOut,
    name: z.string(),
    source: z.string(),
    kind: z.string(),
    /** null = a named target. */
    lane: z.nullable(z.enum(["main", "slow"])),
    /** Of a named target: its settings in place of the source's. Secrets are masked. */
    destination: z.nullable(z.record(z.string(), z.unknown())),
    /** As in Source, such as `destination.signing.secret`. */
    plainSecrets: z.array(z.string()),
    address: nullableText,
    ...targetSettings,
    /** One of each worker; empty = no worker has used it yet. */
    engine: z.array(targetEngineSchema),
    /** Since when workers cannot reach it, and why; null = they can, or none has tried. */
    unreachable: z.nullable(z.object({ since: timeOut, detail: z.string() })),
    sentPerSecondNow: nullableNumber,
  }),
);
export type TargetOut = z.infer<typeof targetSchema>;
export const targetListSchema = pageOut(targetSchema);
export type TargetList = z.infer<typeof targetListSchema>;
