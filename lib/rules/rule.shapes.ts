import * as z from "zod/mini";
import { countOut, editedOut, idOut, reasonSchema } from "@/lib/platform/api/schemas.shapes";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import { isStorableText, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";

/** Text of a rule: not blank, `max` characters at most. */
export function ruleText(max: number) {
  return z
    .string("must be text")
    .check(
      z.maxLength(max, `at most ${max} characters`),
      z.refine((value) => value.trim() !== "", "must not be empty"),
      z.refine(isStorableText, UNSTORABLE_TEXT),
    )
    .register(z.globalRegistry, { pattern: "^[^\\u0000]*\\S[^\\u0000]*$" });
}

export const ruleName = ruleText(100);
export const yesOrNo = z.boolean("must be true or false");
/** The stored rule that a tried one would replace. */
export const triedId = z.optional(z.uuid("must be the id of a rule"));

/** What the change of a rule may say beside the rule's own fields and its position. */
export const ruleChangeShape = {
  name: z.optional(ruleName),
  enabled: z.optional(yesOrNo),
  /** The version that was read: the change is refused when the rule has another one meanwhile. */
  version: z.optional(z.int("must be a whole number")),
  reason: reasonSchema,
};

/** What every stored rule shows beside its own fields. */
export const ruleOutShape = {
  id: idOut,
  name: z.string(),
  position: countOut,
  enabled: z.boolean(),
  version: countOut,
  ...editedOut,
};
export type StoredRuleOut = z.infer<z.ZodMiniObject<typeof ruleOutShape>>;

/** The stored body of a rule with its defaults; or what is wrong with it, by field such as `when[0].value`. */
export function readStoredRule<Body>(
  schema: z.ZodMiniType<Body>,
  stored: unknown,
): { body: Body } | { faults: FieldError[] } {
  const parsed = schema.safeParse(stored);
  if (parsed.success) return { body: parsed.data };
  return { faults: parsed.error.issues.map(({ path, message }) => ({ field: fieldOf(path), detail: message })) };
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}
