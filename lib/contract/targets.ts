import * as z from "zod/mini";
import { reasonSchema } from "@/lib/contract/selection";

const positive = z
  .number("must be a number")
  .check(z.gt(0, "must be above 0"), z.lte(100_000, "must be at most 100,000"));

/** PATCH /api/v1/targets/{name}: absent = unchanged. */
export const targetChangeSchema = z.strictObject({
  /** null = unlimited. */
  ratePerSecond: z.optional(z.nullable(positive)),
  /** null = a tenth of a second's worth of the rate, at least 1. */
  burst: z.optional(z.nullable(positive)),
  bulkhead: z.optional(z.int("must be a whole number").check(z.gte(1, "must be at least 1"), z.lte(1_000))),
  policyName: z.optional(z.string().check(z.minLength(1), z.maxLength(128))),
  retryable: z.optional(z.boolean()),
  /** open and closed hold it there until auto; reset closes it and forgets its history. */
  breaker: z.optional(z.enum(["open", "closed", "auto", "reset"], "must be open, closed, auto or reset")),
  reason: reasonSchema,
});
export type TargetChange = z.infer<typeof targetChangeSchema>;

/** PUT /api/v1/policies/{name}. `body` is a policy of the retry engine, validated field by field. */
export const policyRequestSchema = z.strictObject({ body: z.record(z.string(), z.unknown()), reason: reasonSchema });
export type PolicyRequest = z.infer<typeof policyRequestSchema>;

/** A policy's version. 0 is the built-in preset of that name. */
export type PolicyOut = {
  name: string;
  version: number;
  body: unknown;
  reason: string | null;
  createdBy: string | null;
  createdAt: string | null;
  /** Names of the targets that use it. */
  usedBy: string[];
};

/** PATCH /api/v1/settings: names as in GET. */
export const settingsChangeSchema = z.strictObject({
  settings: z.record(z.string(), z.number("must be a number")),
  reason: reasonSchema,
});
export type SettingsChange = z.infer<typeof settingsChangeSchema>;

export type SettingOut = { name: string; value: number; initial: number; min: number; max: number; text: string };
