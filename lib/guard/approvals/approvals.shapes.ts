import * as z from "zod/mini";
import { APPROVAL_SUBJECTS } from "@/lib/guard/approvals/approval.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  described,
  idOut,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { APPROVAL_STATES } from "@/lib/states/approval-state.pure";

export const causeSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("size"), events: z.int(), above: z.int() }),
  z.object({ kind: z.literal("source"), name: z.string() }),
  z.object({ kind: z.literal("target"), name: z.string() }),
]);

const termsSchema = z.object({
  /** Hash over the ids and revisions of the manifest's events. */
  manifest: z.string(),
  events: z.int(),
  /** null for a mend, which has no target, rate, canary or brake either. */
  lane: nullableText,
  target: nullableText,
  ratePerSecond: nullableNumber,
  canary: z.nullable(
    z.object({ steps: z.array(z.int()), quietMs: z.number(), stopAtFailureRatio: z.number(), window: z.int() }),
  ),
  brake: z.unknown(),
  earlier: nullableText,
  despite: z.array(z.string()),
  startAt: described(z.optional(timeOut), "The time when it may start; absent = at once"),
  /** Of a mend: its recipe, and whether it may break schemas; null = of a redrive. */
  recipe: z.unknown(),
});

/** One request for approval: of a redrive, or of a bulk operation that mends. */
export const approvalSchema = named(
  "Approval",
  z.object({
    subjectKind: z.enum(APPROVAL_SUBJECTS),
    /** The id of the redrive or bulk operation, by which it is approved. */
    id: idOut,
    state: z.enum(APPROVAL_STATES),
    /** Why a second person is needed. */
    causes: z.array(causeSchema),
    /** What is approved. */
    terms: termsSchema,
    /** Over the terms: the approval names it. */
    digest: z.string(),
    askedBy: z.string(),
    askedAt: timeOut,
    /** When nobody has answered by then, it expires. */
    expiresAt: timeOut,
    decidedBy: nullableText,
    decidedAt: nullableTime,
    reason: nullableText,
    /** Why the viewer of this answer can neither approve nor reject it; null = the viewer can, or it is not open. */
    cannotDecide: nullableText,
  }),
);
export type ApprovalOut = z.infer<typeof approvalSchema>;
export const approvalListSchema = pageOut(approvalSchema);
export type ApprovalList = z.infer<typeof approvalListSchema>;

/** GET /api/v1/approvals?state= */
export const approvalsQuery = idPageQuery({
  state: described(z.optional(z.enum(APPROVAL_STATES, `must be one of ${APPROVAL_STATES.join(", ")}`)), "State"),
});

/** PATCH /api/v1/approvals/{id} */
export const approvalDecisionSchema = named(
  "ApprovalDecision",
  z.strictObject({
    decision: z.enum(["approve", "reject"], "must be approve or reject"),
    /** Of what was looked at: refused when it has changed since. */
    digest: z
      .string("must be the digest of the approval, from GET /api/v1/approvals")
      .check(z.regex(/^[0-9a-f]{64}$/, "must be the digest of the approval: 64 hexadecimal digits")),
    /** A rejection needs one. */
    reason: z.optional(reasonSchema),
  }),
  {
    decision: "approve",
    digest: "9f2b1c7d0e5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c",
    reason: "checked the samples",
  },
);
export type ApprovalDecision = z.infer<typeof approvalDecisionSchema>;
