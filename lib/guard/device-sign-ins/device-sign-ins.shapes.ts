import * as z from "zod/mini";
import { newTokenSchema, tokenRequestSchema, tokenSchema } from "@/lib/guard/tokens/tokens.shapes";
import { described, named, nullableText, timeOut } from "@/lib/platform/api/schemas.shapes";

const programSchema = z.string("must be text").check(
  z.minLength(1, "must not be empty"),
  z.maxLength(100, "must have at most 100 characters"),
  z.refine((name) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(name), "must not contain invisible characters"),
);
const secretSchema = z.string("must be text").check(z.minLength(1), z.maxLength(200));
const codeSchema = described(
  z.string("must be text").check(z.minLength(1, "must not be empty"), z.maxLength(40)),
  "That the program shows",
);

export const deviceStartSchema = z.strictObject({
  name: described(programSchema, "The program, as the person reads it who confirms"),
});
export const deviceStartedSchema = named(
  "DeviceSignIn",
  z.object({
    deviceSecret: described(z.string(), "The program gets its token with it, and must not show it"),
    userCode: described(z.string(), "The person compares it with what the program shows"),
    url: described(z.string(), "Where the person confirms"),
    expiresAt: timeOut,
    pollMs: described(z.int(), "The interval for asking whether the person has confirmed"),
  }),
);
export type DeviceStarted = z.output<typeof deviceStartedSchema>;

export const deviceLookSchema = z.strictObject({ code: codeSchema });
export const deviceShownSchema = z.object({
  /** As the program says it. */
  name: z.string(),
  /** That asked; null = not known. */
  address: nullableText,
  askedAt: timeOut,
  expiresAt: timeOut,
});
export type DeviceShown = z.output<typeof deviceShownSchema>;

const { days, actions, sources } = newTokenSchema.shape;
export const deviceDecisionSchema = z.strictObject({
  code: codeSchema,
  decision: described(z.enum(["confirm", "deny"], "must be confirm or deny"), "Whether the program gets a token"),
  days: z.optional(days),
  actions,
  sources,
  proof: tokenRequestSchema.shape.proof,
});
export type DeviceDecision = z.output<typeof deviceDecisionSchema>;

export const deviceTakeSchema = z.strictObject({ deviceSecret: described(secretSchema, "That the program was given") });
export const deviceAnswerSchema = z.object({
  state: described(z.enum(["waiting", "denied", "confirmed"]), "waiting: ask again after pollMs"),
  token: z.nullable(tokenSchema),
  secret: described(z.nullable(z.string()), "To be sent as Authorization: Bearer; answered once"),
});
export type DeviceAnswer = z.output<typeof deviceAnswerSchema>;
