import * as z from "zod/mini";
import { ROLES } from "@/lib/guard/accounts/role.pure";
import { PASSWORD_CHARS_MAX } from "@/lib/guard/sign-in/password.pure";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { filterText } from "@/lib/platform/api/instant.shapes";
import { queryOf } from "@/lib/platform/api/query.shapes";
import {
  described,
  idOut,
  named,
  nullableText,
  nullableTime,
  positiveInt4,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";

const KINDS = ["person", "service"] as const;
const roleSchema = z.enum(ROLES, `must be one of ${ROLES.join(", ")}`);
const actionsSchema = z
  .array(z.enum(ACTIONS, `must be among ${ACTIONS.join(", ")}`))
  .check(z.maxLength(ACTIONS.length, `must have at most ${ACTIONS.length} actions`));
const sourcesSchema = z.nullable(
  z
    .array(z.string().check(z.minLength(1), z.maxLength(200)))
    .check(z.maxLength(1_000, "must have at most 1,000 sources")),
);
const emailSchema = z.nullable(
  z.string().check(z.maxLength(254), z.regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")),
);

export const accountSchema = named(
  "Account",
  z.object({
    id: idOut,
    kind: z.enum(KINDS),
    name: z.string(),
    email: nullableText,
    role: z.enum(ROLES),
    /** Beside those of the role. */
    actions: z.array(z.enum(ACTIONS)),
    /** Names; null = every source. */
    sources: z.nullable(z.array(z.string())),
    hasPassword: z.boolean(),
    totpSince: nullableTime,
    secondFactorNeeded: described(
      z.boolean(),
      "Its role requires a second factor, which it lacks: until it adds one it may do nothing else",
    ),
    oidcIssuer: nullableText,
    /** Role and sources come from the provider at each sign-in. */
    oidcManaged: z.boolean(),
    createdAt: timeOut,
    createdBy: z.string(),
    disabledAt: nullableTime,
    signedInAt: nullableTime,
    version: z.int(),
    /** Sessions that have not ended. */
    sessions: z.int(),
    /** A link to choose a password may be used until then. */
    linkUntil: nullableTime,
  }),
);
export type AccountOut = z.output<typeof accountSchema>;

/** What one answer lists. */
export const ACCOUNTS_MAX = 2_000;
const EXACT = ACCOUNTS_MAX.toLocaleString("en");

export const accountsQuery = queryOf({
  name: described(
    z.optional(filterText(128)),
    "A part of the name; case, accents, spaces and punctuation do not matter. Absent = all accounts",
  ),
});
export const accountListSchema = z.object({
  items: described(z.array(accountSchema), `People first, by name; ${EXACT} at most`),
  total: described(z.int(), `Of all that match: above ${EXACT}, ask by name for those that are not listed`),
});
export type AccountList = z.output<typeof accountListSchema>;

/** An account with the link by which its owner chooses a password; shown once. */
export const madeAccountSchema = named(
  "MadeAccount",
  z.object({
    account: accountSchema,
    link: described(z.nullable(z.string()), "Can be opened once; null for a service account"),
  }),
);

const nameSchema = z
  .string("must be text")
  .check(z.minLength(1, "must not be empty"), z.maxLength(128, "must have at most 128 characters"));

export const accountChangeSchema = z.strictObject({
  role: described(z.optional(roleSchema), "Its role"),
  actions: described(z.optional(actionsSchema), "Actions in addition to those of the role"),
  sources: described(z.optional(sourcesSchema), "Names of the sources that it sees and changes; null = all"),
  email: described(z.optional(emailSchema), "Where its owner is reached"),
  disabled: described(z.optional(z.boolean()), "true ends its sessions and tokens"),
  version: described(positiveInt4("must be the version that you read"), "The version that you read"),
});
export type AccountChange = z.output<typeof accountChangeSchema>;

export const newAccountSchema = z.strictObject({
  kind: described(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`), "A person signs in; a service has only tokens"),
  name: described(nameSchema, "Shown in the audit log"),
  email: described(z.optional(emailSchema), "Where its owner is reached"),
  role: described(roleSchema, "Its role"),
  actions: described(z.optional(actionsSchema), "Actions in addition to those of the role"),
  sources: described(z.optional(sourcesSchema), "Names of the sources that it sees and changes; absent = all"),
});
export type NewAccount = z.output<typeof newAccountSchema>;

export const linkSchema = z.object({ link: z.string(), expiresAt: timeOut });

const passwordSchema = z
  .string("must be text")
  .check(z.minLength(1, "must not be empty"), z.maxLength(4 * PASSWORD_CHARS_MAX, "is too long"));
/** Field `proof`: shows that the account's owner acts, not somebody at an unlocked screen. See `assertProof`. */
export const proofSchema = z.optional(
  z.strictObject({
    password: described(passwordSchema, "The caller's own password"),
    code: described(
      z.optional(z.string("must be text").check(z.minLength(1), z.maxLength(40))),
      "Of the second factor, where there is one",
    ),
  }),
);
export type Proof = z.output<typeof proofSchema>;
const secretSchema = z.string("must be text").check(z.minLength(1), z.maxLength(200));
const codeSchema = z.string("must be text").check(z.minLength(1), z.maxLength(40));

export const signInSchema = z.strictObject({
  name: described(nameSchema, "Of the account"),
  password: described(passwordSchema, "Its password"),
  code: described(z.optional(codeSchema), "Of the second factor, or a recovery code"),
});
export type SignIn = z.output<typeof signInSchema>;

export const linkLookSchema = z.strictObject({ secret: described(secretSchema, "What follows # in the link") });
export const linkShownSchema = z.object({
  purpose: z.enum(["setup", "invitation", "reset"]),
  /** null = the name is chosen now. */
  name: nullableText,
  expiresAt: timeOut,
});
export const linkUseSchema = z.strictObject({
  secret: described(secretSchema, "What follows # in the link"),
  name: described(z.optional(nameSchema), "Of the first administrator"),
  password: described(passwordSchema, "The password to sign in with from now on"),
});
export type LinkUse = z.output<typeof linkUseSchema>;
export const linkUsedSchema = z.object({
  signedIn: described(z.boolean(), "false = the account has a second factor: sign in with the new password and a code"),
});

export const ownAccountSchema = z.object({
  account: accountSchema,
  totp: z.object({
    since: nullableTime,
    recoveryCodesLeft: z.int(),
    /** By the role: without one the account may do nothing else. */
    demanded: z.boolean(),
  }),
});
export const passwordChangeSchema = z.strictObject({
  password: described(passwordSchema, "Current password"),
  newPassword: described(passwordSchema, "The one from now on"),
  code: described(z.optional(codeSchema), "Of the second factor, or a recovery code; needed where the account has one"),
});
export type PasswordChange = z.output<typeof passwordChangeSchema>;
export const passwordProofSchema = z.strictObject({ password: described(passwordSchema, "Current password") });
export const totpRemovalSchema = z.strictObject({
  password: described(passwordSchema, "Current password"),
  code: described(codeSchema, "Of the second factor, or a recovery code"),
});
export const totpOfferSchema = z.object({
  /** In base32, to type by hand. */
  secret: z.string(),
  /** otpauth:, for a QR code. */
  uri: z.string(),
});
export const totpConfirmSchema = z.strictObject({ code: described(codeSchema, "The code that the app shows now") });
export const recoveryCodesSchema = z.object({ recoveryCodes: z.array(z.string()) });

export const signedOutSchema = z.object({
  next: described(nullableText, "Where the browser ends its session at the OpenID provider, too; null = nowhere"),
});

const ownSessionSchema = named(
  "Session",
  z.object({
    id: idOut,
    means: z.enum(["password", "oidc", "link"]),
    createdAt: timeOut,
    seenAt: timeOut,
    expiresAt: timeOut,
    address: nullableText,
    agent: nullableText,
    /** The one of this request. */
    current: z.boolean(),
  }),
);
export type SessionOut = z.output<typeof ownSessionSchema>;
export const sessionListSchema = z.object({ items: z.array(ownSessionSchema) });

export const meSchema = named(
  "Me",
  z.object({
    /** null = nobody is signed in. */
    name: nullableText,
    means: z.nullable(z.enum(["local", "session", "token"])),
    account: z.nullable(idOut),
    // Plain text in the document: C# and Go clients of enumerated words in a union do not compile.
    actions: z.union([
      z.literal("all"),
      z.array(z.enum(ACTIONS).register(z.globalRegistry, { type: "string", enum: undefined })),
    ]),
    /** Names. */
    sources: z.union([z.literal("all"), z.array(z.string())]),
    secondFactorNeeded: described(
      z.boolean(),
      "The account lacks the second factor that its role requires: until it adds one it may do nothing else",
    ),
    wrongCodes: described(
      z.int(),
      "Wrong second-factor codes that were typed with the right password before this session was opened",
    ),
    signIn: z.object({
      mode: z.enum(["elsewhere", "always", "off"]),
      /** This request needs no sign-in. */
      open: z.boolean(),
      /** Somebody has an account. */
      accounts: z.boolean(),
      /** The OpenID provider, as its button calls it; null = there is none. */
      oidc: nullableText,
      /** By name and password. */
      password: z.boolean(),
    }),
  }),
);
export type MeOut = z.output<typeof meSchema>;
