import * as z from "zod/mini";
import { named, nullableNumber, nullableText } from "@/lib/platform/api/schemas.shapes";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";

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

const result = z.enum(["holds", "broken", "unknown"]);

export const contractReportSchema = named(
  "ContractReport",
  z.object({
    target: z.string(),
    source: z.string(),
    /** The worst of the assertions: broken, then unknown. */
    result,
    assertions: z.array(
      z.object({ id: z.string(), formula: z.string(), numbers: z.string(), result, reason: nullableText }),
    ),
  }),
  {
    target: "orders",
    source: "orders",
    result: "broken",
    assertions: [
      {
        id: "deadline",
        formula: "W = attempts x timeout + sum of the longest delays <= deadline - margin",
        numbers: "5 x 3000 ms + 15000 ms = 30000 ms <= 20000 ms - 1000 ms",
        result: "broken",
        reason: null,
      },
    ],
  },
);
export type ContractReportOut = z.infer<typeof contractReportSchema>;
export const contractReportListSchema = z.object({ items: z.array(contractReportSchema) });
