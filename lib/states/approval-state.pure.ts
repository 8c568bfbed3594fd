/**
 * The life of a request for approval.
 *
 * Asked when the manifest of a redrive is complete, or when a change made an approved redrive more than what was
 * approved. Given or rejected by a second person; expired when nobody answered in time; withdrawn when the redrive
 * ended before. A given approval is voided when the redrive changes beyond it, and a new one is asked for. Rejected,
 * expired, voided and withdrawn are final.
 */
export const APPROVAL_STATES = ["asked", "given", "rejected", "expired", "voided", "withdrawn"] as const;

export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** Each compare-and-set of `approvals.state`. */
export const APPROVAL_MOVES = {
  give: { from: ["asked"], to: "given" },
  reject: { from: ["asked"], to: "rejected" },
  expire: { from: ["asked"], to: "expired" },
  withdraw: { from: ["asked"], to: "withdrawn" },
  void: { from: ["given"], to: "voided" },
} as const satisfies Record<string, { from: readonly ApprovalState[]; to: ApprovalState }>;

export type ApprovalMove = keyof typeof APPROVAL_MOVES;
