import * as z from "zod/mini";
import { proofSchema } from "@/lib/guard/accounts/accounts.shapes";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { described, idOut, named, nullableText, nullableTime, timeOut } from "@/lib/platform/api/schemas.shapes";
import { TOKEN_DAYS_MAX } from "./token.pure";

export const tokenSchema = named(
  "Token",
  z.object({
    id: idOut,
    account: idOut,
    accountName: z.string(),
    name: z.string(),
    /** Its first letters. */
    hint: z.string(),
    /** null = what its account may do, but not approve. */
    actions: z.nullable(z.array(z.enum(ACTIONS))),
    /** Names; null = those of its account. */
    sources: z.nullable(z.array(z.string())),
    createdAt: timeOut,
    createdBy: z.string(),
    expiresAt: timeOut,
    usedAt: nullableTime,
    usedAddress: nullableText,
    revokedAt: nullableTime,
    revokedBy: nullableText,
    signInBy: described(
      nullableTime,
      "From then on it works once its owner has signed in at the OpenID provider again; null = it needs no sign-in",
    ),
  }),
);
export type TokenOut = z.output<typeof tokenSchema>;
export const tokenListSchema = z.object({ items: z.array(tokenSchema) });

export const newTokenSchema = z.strictObject({
  name: described(
    z
      .string("must be text")
      .check(z.minLength(1, "must not be empty"), z.maxLength(100, "must have at most 100 characters")),
    "What it is for",
  ),
  days: described(
    z.int(`must be a whole number from 1 to ${TOKEN_DAYS_MAX}`).check(z.gte(1), z.lte(TOKEN_DAYS_MAX)),
    "How long it is valid",
  ),
  actions: described(
    z.optional(
      z
        .array(z.enum(ACTIONS, `must be among ${ACTIONS.join(", ")}`))
        .check(z.minLength(1, "must name an action"), z.maxLength(ACTIONS.length)),
    ),
    "A subset of its account's actions; absent = all of them except approve",
  ),
  sources: described(
    z.optional(z.array(z.string().check(z.minLength(1), z.maxLength(200))).check(z.minLength(1), z.maxLength(1_000))),
    "Names, of those that its account sees; absent = all of them",
  ),
});
export type NewToken = z.output<typeof newTokenSchema>;

const PROOF = "Needed when the caller signed in more than five minutes ago";
/** POST /api/v1/tokens, and of an account. */
export const tokenRequestSchema = z.extend(newTokenSchema, { proof: described(proofSchema, PROOF) });
export type TokenRequest = z.output<typeof tokenRequestSchema>;

export const madeTokenSchema = named(
  "MadeToken",
  z.object({
    token: tokenSchema,
    secret: described(z.string(), "To be sent as Authorization: Bearer; shown once"),
  }),
);
