import * as z from "zod/mini";
import { FINDING_CODES } from "@/lib/guard/audit-chain/chain.pure";
import { countOut, idOut, named, nullableText, nullableTime, timeOut } from "@/lib/platform/api/schemas.shapes";

const hash = z.string("must be text").check(z.regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hexadecimal"));
const head = { seq: z.int("must be a whole number").check(z.minimum(1, "must be 1 or more")), chainHash: hash };

const finding = z.object({
  code: z.enum(FINDING_CODES),
  /** Its number in the chain. */
  seq: z.nullable(countOut),
  entryId: z.nullable(idOut),
  detail: z.string(),
});

export const verificationSchema = named(
  "AuditVerification",
  z.object({
    id: idOut,
    extent: z.enum(["whole", "recent"]),
    requestedBy: z.string(),
    requestedAt: timeOut,
    /** null = it runs, or waits for a worker. */
    finishedAt: nullableTime,
    /** Seals that were looked at so far. */
    seals: countOut,
    /** null = it runs, or could not be done. */
    good: z.nullable(z.boolean()),
    /** Why it could not be done, or not all of it. */
    fault: nullableText,
    entries: z.nullable(countOut),
    anchors: z.nullable(countOut),
    /** Entries in which a forget replaced names. */
    redactions: z.nullable(countOut),
    /** The product's role may only add to the audit. */
    appendOnly: z.nullable(z.boolean()),
    /** The most telling finding: a changed entry before an anchor that says otherwise. */
    first: z.nullable(finding),
    /** The most telling 50. */
    findings: z.array(finding),
    findingsTotal: z.nullable(countOut),
  }),
);
export type AuditVerificationOut = z.infer<typeof verificationSchema>;

/** GET /api/v1/audit/chain */
export const auditChainSchema = z.object({
  /** null = nothing is sealed yet. */
  head: z.nullable(z.object({ ...head, sealedAt: timeOut })),
  /** Entries without a seal yet: at most 10,000 are counted. */
  waiting: z.object({ count: countOut, since: nullableTime }),
  /** The last of each place. */
  anchors: z.array(z.object({ ...head, place: z.string(), at: timeOut })),
  running: z.nullable(verificationSchema),
  last: z.nullable(verificationSchema),
  lastWhole: z.nullable(verificationSchema),
  /** The newest check with a finding, until a later check of everything is good and has read every anchor. */
  standing: z.nullable(verificationSchema),
});
export type AuditChainOut = z.infer<typeof auditChainSchema>;
