import * as z from "zod/mini";
import { deletion, named, nullableText, nullableTime, reasonSchema } from "@/lib/platform/api/schemas.shapes";
import { contractSchema } from "@/lib/sources/contracts/contracts.shapes";

const positive = z
  .number("must be a number")
  .check(z.gt(0, "must be above 0"), z.lte(100_000, "must be at most 100,000"));

/** What becomes of a send while its target takes none: its breaker is open, it cannot be reached, its retry budget is spent. */
export const fallbackSchema = named(
  "Fallback",
  z.discriminatedUnion("kind", [
    /** The item stays open and is looked at again after this long. */
    z.strictObject({
      kind: z.literal("defer"),
      deferMs: z
        .int("must be a whole number of milliseconds")
        .check(z.gte(1_000, "must be at least 1,000"), z.lte(86_400_000, "must be at most 86,400,000")),
    }),
    /** It goes to the slow lane of the same source. */
    z.strictObject({ kind: z.literal("slow-lane") }),
    /** It goes to the target of that name. */
    z.strictObject({ kind: z.literal("target"), target: z.string().check(z.minLength(1), z.maxLength(256)) }),
  ]),
  { kind: "defer", deferMs: 60_000 },
);

/** Stands in URLs and in the history of events; a source's name is its main lane's target, `<name>.slow` its slow lane's. */
const targetName = z.string("must be text").check(
  z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "must be 1 to 100 letters, digits, dots, underscores or hyphens"),
  z.refine((text) => !text.endsWith(".slow"), "is reserved for slow lanes: choose another"),
);
z.globalRegistry.add(targetName, { not: { pattern: "\\.slow$" } });

/** Settings of the kind that take the place of the source's own: `destination` of GET /api/v1/kinds names them. */
const destination = z.record(z.string(), z.unknown(), "must be an object");

/** POST /api/v1/sources/{name}/targets. `destination` is checked by the source's kind. */
export const targetRequestSchema = named(
  "TargetRequest",
  z.strictObject({
    name: targetName,
    destination,
    /** Whether its endpoint may be called again. Absent = false: only a send that found no target is repeated. */
    retryable: z.optional(z.boolean("must be true or false")),
    reason: reasonSchema,
  }),
  {
    name: "orders.audit",
    destination: { redriveUrl: "https://audit.example/events" },
    retryable: true,
    reason: "the audit service missed them",
  },
);
export type TargetRequest = z.infer<typeof targetRequestSchema>;

export const targetRemovalSchema = deletion("TargetRemoval", "the audit service is gone", "removed");
export type TargetRemoval = z.infer<typeof targetRemovalSchema>;

/** PATCH /api/v1/targets/{name}: absent = unchanged. */
export const targetChangeSchema = named(
  "TargetChange",
  z.strictObject({
    /** Of a named target alone: a lane's target has the name of its source. */
    name: z.optional(targetName),
    /** Of a named target alone. Masked values sent back as they were shown stay as stored. */
    destination: z.optional(destination),
    /** null = unlimited. */
    ratePerSecond: z.optional(z.nullable(positive)),
    /** null = a tenth of a second's worth of the rate, at least 1. */
    burst: z.optional(z.nullable(positive)),
    bulkhead: z.optional(z.int("must be a whole number").check(z.gte(1, "must be at least 1"), z.lte(1_000))),
    policyName: z.optional(z.string().check(z.minLength(1), z.maxLength(128))),
    retryable: z.optional(z.boolean()),
    /** A redrive begins at a third of the rate and reaches it after this long; 0 = at once. */
    warmUpMs: z.optional(
      z
        .int("must be a whole number of milliseconds")
        .check(z.gte(0, "must be at least 0"), z.lte(3_600_000, "must be at most 3,600,000")),
    ),
    /** Sends leave one by one at an even rate, also after a rest; `burst` has no part in it. */
    noBursts: z.optional(z.boolean()),
    /** null = a send waits for its target, or is refused. */
    fallback: z.optional(z.nullable(fallbackSchema)),
    /** true = each redrive to it needs the approval of a second person. */
    needsApproval: z.optional(z.boolean("must be true or false")),
    /** The whole contract, checked by GET /api/v1/contracts; null = none. */
    contract: z.optional(z.nullable(contractSchema)),
    /** open and closed hold it there until auto; reset closes it and forgets its history. */
    breaker: z.optional(z.enum(["open", "closed", "auto", "reset"], "must be open, closed, auto or reset")),
    reason: reasonSchema,
  }),
  { ratePerSecond: 2, reason: "the service is slow today" },
);
export type TargetChange = z.infer<typeof targetChangeSchema>;

/** PUT /api/v1/policies/{name}. `body` is a policy of the retry engine, validated field by field. */
export const policyRequestSchema = named(
  "PolicyRequest",
  z.strictObject({ body: z.record(z.string(), z.unknown()), reason: reasonSchema }),
  { body: { maxAttempts: 3 }, reason: "fewer attempts" },
);
export type PolicyRequest = z.infer<typeof policyRequestSchema>;

const policyBoundsSchema = z.object({
  /** The longest an operation can take by its own attempts and delays. */
  worstMs: z.number(),
  /** What the deadline leaves beyond that and its margin. */
  slackMs: z.number(),
  /** When each attempt fails with `dropRate`, independently of the others: which share succeeds, with how many attempts. */
  odds: z.array(z.object({ dropRate: z.number(), success: z.number(), attempts: z.number() })),
});

/** A policy's version. 0 is the built-in preset of that name. */
export const policySchema = named(
  "Policy",
  z.object({
    name: z.string(),
    version: z.int(),
    body: z.unknown(),
    reason: nullableText,
    createdBy: nullableText,
    createdAt: nullableTime,
    usedBy: z.array(z.string()),
    /** What it promises; null = the body cannot run. */
    bounds: z.nullable(policyBoundsSchema),
  }),
);
export type PolicyOut = z.infer<typeof policySchema>;
export const policyListSchema = z.object({ items: z.array(policySchema) });
