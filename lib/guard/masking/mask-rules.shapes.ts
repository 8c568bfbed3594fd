import * as z from "zod/mini";
import {
  boundedText,
  described,
  editedOut,
  headersSchema,
  idOut,
  named,
  nullableText,
  positiveInt4,
  reasonSchema,
} from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";
import { MASK_KINDS } from "./mask-rule.pure";

export const maskRuleSchema = named(
  "MaskRule",
  z.object({
    id: idOut,
    /** null = every source. */
    source: nullableText,
    kind: z.enum(MASK_KINDS),
    pattern: z.string(),
    enabled: z.boolean(),
    ...editedOut,
  }),
);
export type MaskRuleOut = z.infer<typeof maskRuleSchema>;
export const maskRuleListSchema = z.object({ items: z.array(maskRuleSchema) });
export type MaskRuleList = z.infer<typeof maskRuleListSchema>;

const kind = described(
  z.enum(MASK_KINDS, `must be one of ${MASK_KINDS.join(", ")}`),
  "pointer: a JSON pointer, in which * matches one segment; key: a name, in which * matches any text; detector: a built-in detector, to disable or enable it",
);
const pattern = boundedText(512);
const source = described(z.optional(boundedText(TEXT_MAX.sourceName)), "Absent = every source");

/** POST /api/v1/mask-rules */
export const maskRuleRequestSchema = named(
  "MaskRuleRequest",
  z.strictObject({ kind, pattern, source, enabled: z._default(z.boolean("must be true or false"), true) }),
  { kind: "pointer", pattern: "/customer/email", source: "orders" },
);
export type MaskRuleRequest = z.infer<typeof maskRuleRequestSchema>;

/** PATCH /api/v1/mask-rules/{id} */
export const maskRuleChangeSchema = named(
  "MaskRuleChange",
  z.strictObject({ pattern: z.optional(pattern), enabled: z.optional(z.boolean("must be true or false")) }),
  { enabled: false },
);
export type MaskRuleChange = z.infer<typeof maskRuleChangeSchema>;

const TRIAL_CHARS_MAX = 262_144;

/** POST /api/v1/mask-rules/trial: the rules in force, or with one more, on a sample or on an event. */
export const maskTrialRequestSchema = named(
  "MaskTrialRequest",
  z.strictObject({
    text: described(
      z.optional(z.string("must be text").check(z.maxLength(TRIAL_CHARS_MAX, `at most ${TRIAL_CHARS_MAX} characters`))),
      "A payload; or give an event",
    ),
    eventId: described(z.optional(z.uuid("must be the id of an event")), "The id of an event as listed"),
    source,
    rule: described(
      z.optional(z.strictObject({ kind, pattern, enabled: z._default(z.boolean(), true) })),
      "A rule that is not stored",
    ),
  }),
  { text: '{"customer":{"email":"ada@example.com"}}', source: "orders" },
);
export type MaskTrialRequest = z.infer<typeof maskTrialRequestSchema>;

export const maskTrialSchema = named(
  "MaskTrial",
  z.object({
    text: z.string(),
    /** null = masked as a whole. */
    count: z.nullable(z.int()),
    /** Where, and by which rule; at most 200. */
    places: z.array(z.object({ at: z.string(), by: z.string() })),
    headers: headersSchema,
  }),
);
export type MaskTrial = z.infer<typeof maskTrialSchema>;

/** A parameter of a GET that shows what is masked. */
export const REVEAL_REASON = described(
  z.optional(reasonSchema),
  "Why masked values are shown, recorded in the audit log. Or the header x-reason",
);

const REVISIONS_MAX = 2;

/** POST /api/v1/events/{id}/reveal */
export const revealRequestSchema = named(
  "RevealRequest",
  z.strictObject({
    reason: reasonSchema,
    revisions: described(
      z.optional(
        z
          .array(positiveInt4("must be the number of a revision"))
          .check(z.minLength(1, "must name at least one"), z.maxLength(REVISIONS_MAX, `at most ${REVISIONS_MAX}`)),
      ),
      "Which revisions; absent = the current one",
    ),
  }),
  { reason: "the customer asks what we sent" },
);
export type RevealRequest = z.infer<typeof revealRequestSchema>;
