import * as z from "zod/mini";
import { KNOWN_DAYS } from "@/lib/brokers/source-limits.pure";
import { named, nullableNumber, nullableText } from "@/lib/platform/api/schemas.shapes";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";
import { CALLERS_MAX, SOURCE_CONTRACT_DEFAULTS } from "@/lib/sources/contracts/source-contract.pure";

/** A week: no wait of a caller and no window of a key is promised for longer. */
const MS_MAX = 604_800_000;

const ms = z
  .number("must be a number of milliseconds or null")
  .check(z.gte(0, "must be at least 0"), z.lte(MS_MAX, "must be at most 604,800,000"));
const share = z.number("must be a number").check(z.gt(0, "must be above 0"), z.lte(1, "must be at most 1"));
const optionalMs = z._default(z.nullable(ms), null);

/** `contract` of PATCH /api/v1/targets/{name}: the whole contract; what is absent is not promised, or has its default. */
export const contractSchema = z.strictObject({
  semantics: z._default(
    z.nullable(
      z.enum(
        ["at-most-once", "at-least-once", "effectively-once"],
        "must be at-most-once, at-least-once or effectively-once",
      ),
    ),
    null,
  ),
  dedupWindowMs: optionalMs,
  reorderingSpanMs: optionalMs,
  promisedLatencyMs: optionalMs,
  callerDeadlineMs: optionalMs,
  marginMs: optionalMs,
  promisedSuccess: z._default(
    z.nullable(z.number("must be a number or null").check(z.gt(0, "must be above 0"), z.lt(1, "must be below 1"))),
    null,
  ),
  expectedPerSecond: z._default(
    z.nullable(
      z
        .number("must be a number or null")
        .check(z.gt(0, "must be above 0"), z.lte(1_000_000, "must be at most 1,000,000")),
    ),
    null,
  ),
  budgetRatio: z._default(share, CONTRACT_DEFAULTS.budgetRatio),
  timeoutRatio: z._default(share, CONTRACT_DEFAULTS.timeoutRatio),
  loadMax: z._default(share, CONTRACT_DEFAULTS.loadMax),
  criticality: z._default(
    z.enum(["critical", "normal", "background"], "must be critical, normal or background"),
    CONTRACT_DEFAULTS.criticality,
  ),
});

/** As it is stored and shown: every field is there. */
export const contractOutSchema = z.object({
  semantics: z.nullable(z.enum(["at-most-once", "at-least-once", "effectively-once"])),
  dedupWindowMs: nullableNumber,
  reorderingSpanMs: nullableNumber,
  promisedLatencyMs: nullableNumber,
  callerDeadlineMs: nullableNumber,
  marginMs: nullableNumber,
  promisedSuccess: nullableNumber,
  expectedPerSecond: nullableNumber,
  budgetRatio: z.number(),
  timeoutRatio: z.number(),
  loadMax: z.number(),
  criticality: z.enum(["critical", "normal", "background"]),
});

/** As long as an event may be known: dead letters wait for days, and a consumer may remember keys for a year. */
const LONG_MS_MAX = KNOWN_DAYS.max * 86_400_000;

const optionalLongMs = z._default(
  z.nullable(
    z
      .number("must be a number of milliseconds or null")
      .check(
        z.gte(0, "must be at least 0"),
        z.lte(LONG_MS_MAX, `must be at most ${LONG_MS_MAX.toLocaleString("en-US")}`),
      ),
  ),
  null,
);

const callersFault = `must be a list of at most ${CALLERS_MAX} names of sources and targets`;

/** `contract` of PATCH /api/v1/sources/{name}: the whole contract, as with targets. */
export const sourceContractSchema = z.strictObject({
  promisedLatencyMs: optionalLongMs,
  callerDeadlineMs: optionalMs,
  marginMs: optionalMs,
  expectedPerSecond: contractSchema.shape.expectedPerSecond,
  dedupWindowMs: optionalLongMs,
  reorderingSpanMs: optionalLongMs,
  callers: z._default(
    z
      .array(z.string("must be a name").check(z.minLength(1, "must be a name"), z.maxLength(256)), callersFault)
      .check(z.maxLength(CALLERS_MAX, callersFault)),
    [],
  ),
  duplicateRatio: z._default(share, SOURCE_CONTRACT_DEFAULTS.duplicateRatio),
  budgetRatio: contractSchema.shape.budgetRatio,
  loadMax: contractSchema.shape.loadMax,
  criticality: contractSchema.shape.criticality,
});

const {
  promisedSuccess: _success,
  semantics: _semantics,
  timeoutRatio: _timeouts,
  ...ofSource
} = contractOutSchema.shape;
export const sourceContractOutSchema = z.object({
  ...ofSource,
  callers: z.array(z.string()),
  duplicateRatio: z.number(),
});

const result = z.enum(["holds", "broken", "unknown"]);
const assertions = z.array(
  z.object({ id: z.string(), formula: z.string(), numbers: z.string(), result, reason: nullableText }),
);

export const contractReportSchema = named(
  "ContractReport",
  z.object({
    target: z.string(),
    source: z.string(),
    /** The worst of the assertions: broken, then unknown. */
    result,
    assertions,
  }),
);
export type ContractReportOut = z.infer<typeof contractReportSchema>;

export const sourceContractReportSchema = named(
  "SourceContractReport",
  z.object({
    source: z.string(),
    /** The worst of the assertions: broken, then unknown. */
    result,
    assertions,
  }),
);
export type SourceContractReportOut = z.infer<typeof sourceContractReportSchema>;

/** GET /api/v1/contracts: `items` of targets, `sources` of sources. */
export const contractReportListSchema = z.object({
  items: z.array(contractReportSchema),
  sources: z.array(sourceContractReportSchema),
});
export type ContractReportList = z.infer<typeof contractReportListSchema>;
