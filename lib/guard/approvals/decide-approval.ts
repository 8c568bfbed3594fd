import { endBulkOperation, lockBulkOperation } from "@/lib/events/bulk/bulk-operations.write";
import { ringOrLog } from "@/lib/events/bulk/change-events";
import { digestOf, mendTermsOf, termsOf } from "@/lib/guard/approvals/approval";
import { type ApprovalTerms, cannotDecide } from "@/lib/guard/approvals/approval.pure";
import { readAskers, unknownApproval } from "@/lib/guard/approvals/approvals.read";
import type { ApprovalDecision } from "@/lib/guard/approvals/approvals.shapes";
import { type ApprovalRow, endApproval, latestApproval } from "@/lib/guard/approvals/approvals.write";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { sourcesOf } from "@/lib/guard/viewer/scope.shapes";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Tx } from "@/lib/platform/database/db";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { lockRedrive, moveRedrive, type RedriveRow } from "@/lib/redrive/life/redrive.write";
import { ringStarted, startIfReady } from "@/lib/redrive/life/start-redrive";
import { REDRIVE_MOVES } from "@/lib/redrive/states/redrive-state.pure";

/**
 * Approves or rejects a redrive or a mend that waits for it. It starts at once, unless it waits for something else; a rejected
 * one is cancelled, and its events are PENDING again. ONE transaction, with the redrive's row locked: a cancel, a change
 * or another decision is either seen or waits. Throws DomainError `forbidden` for the person who asked,
 * `approval-outdated` when the redrive is not what the digest names, `unknown-approval`, `illegal-transition`.
 */
export async function decideApproval(
  deps: Deps,
  { id, decision }: { id: string; decision: ApprovalDecision },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "approve");
  const nowMs = deps.clock.wallMs();
  const after = await deps.db.transaction(async (tx) => {
    const redrive = await lockRedrive(tx, id);
    if (!redrive) return decideMend(tx, { id, decision, viewer, nowMs });
    if (!seesAll(viewer, redrive.sources)) throw unknownApproval(id);
    const approval = await openApproval(tx, redrive);
    await refuseAsker(tx, id, viewer);
    refuseOutdated(await termsOf(tx, redrive), decision.digest);
    return decision.decision === "approve"
      ? approve(tx, { redrive, approval, decision, viewer, nowMs })
      : reject(tx, { redrive, approval, decision, viewer, nowMs });
  });
  if (after === "mend") await ringOrLog(deps, id);
  if (after === "RUNNING") await ringStarted(deps, id);
  if (after === "CANCELLED")
    await cancelItems(deps, id, 1).catch((error) => {
      deps.log.warn({ redriveId: id, err: error }, "items not given back, the reconciler gives them back");
    });
}

type Decided = {
  redrive: RedriveRow;
  approval: ApprovalRow;
  decision: ApprovalDecision;
  viewer: Viewer;
  nowMs: number;
};

async function approve(tx: Tx, { redrive, approval, decision, viewer, nowMs }: Decided) {
  await endApproval(tx, redrive.id, "give", { by: viewer.name, reason: decision.reason ?? null });
  await auditDecision(tx, "redrive.approved", { redrive, approval, decision, viewer, nowMs });
  return startIfReady(tx, { ...redrive, awaitsApproval: false }, { actor: viewer.name, nowMs });
}

async function reject(tx: Tx, { redrive, approval, decision, viewer, nowMs }: Decided) {
  assertReason(decision);
  await endApproval(tx, redrive.id, "reject", { by: viewer.name, reason: decision.reason });
  await moveRedrive(tx, redrive.id, "cancel", { cancelledBy: viewer.name });
  await auditDecision(tx, "redrive.rejected", { redrive, approval, decision, viewer, nowMs });
  return REDRIVE_MOVES.cancel.to;
}

function assertReason({ reason }: ApprovalDecision): void {
  if (reason !== undefined) return;
  throw new DomainError("invalid-request", "A rejection needs a reason", {
    fields: [{ field: "reason", detail: "say why it is rejected: the person who asked reads it" }],
  });
}

async function auditDecision(
  tx: Tx,
  action: "redrive.approved" | "redrive.rejected",
  { redrive, approval, decision, viewer, nowMs }: Decided,
): Promise<void> {
  await appendAudit(tx, {
    actor: viewer.name,
    action,
    subjectKind: "redrive",
    subjectId: redrive.id,
    redriveId: redrive.id,
    reason: decision.reason ?? null,
    before: { askedBy: approval.askedBy, state: redrive.state },
    after: { digest: approval.digest, events: approval.terms.events },
    count: 1,
    atMs: nowMs,
  });
}

const ENDED = {
  given: "was approved",
  rejected: "was rejected",
  expired: "expired, because nobody answered in time",
  voided: "was voided by a change",
  withdrawn: "was withdrawn, because the redrive or mend ended",
} as const;

async function openApproval(tx: Tx, redrive: RedriveRow): Promise<ApprovalRow> {
  const none =
    redrive.state === "PLANNING"
      ? "the redrive is still being frozen: look again when its manifest is complete"
      : "the redrive needs no approval";
  return undecided(await latestApproval(tx, redrive.id), none);
}

/** Throws DomainError `illegal-transition` unless the request for approval is open. `none`: why there is none. */
function undecided(approval: ApprovalRow | null, none: string): ApprovalRow {
  if (approval?.state === "asked" && !approval.overdue) return approval;
  const detail =
    approval === null
      ? none
      : approval.state === "asked"
        ? `it ${ENDED.expired}`
        : `it ${ENDED[approval.state]}${approval.decidedBy === null ? "" : ` by ${approval.decidedBy}`}`;
  throw new DomainError("illegal-transition", `There is nothing to decide: ${detail}`, {
    fields: [{ field: "decision", detail }],
  });
}

/** Throws for who had a part in asking, under any spelling of the name, and for who has no name. */
async function refuseAsker(tx: Tx, id: string, viewer: Viewer): Promise<void> {
  const detail = cannotDecide(await readAskers(tx, id), viewer);
  if (detail !== null) throw new DomainError("forbidden", detail, { fields: [{ field: "action", detail: "approve" }] });
}

function refuseOutdated(terms: ApprovalTerms, digest: string): void {
  const now = digestOf(terms);
  if (now === digest) return;
  throw new DomainError("approval-outdated", "It has changed since you looked at it: look at it again", {
    fields: [{ field: "digest", detail: `is now ${now}` }],
  });
}

/** A mend that is approved is worked from here on; a rejected one is cancelled, and has changed nothing. */
async function decideMend(
  tx: Tx,
  { id, decision, viewer, nowMs }: { id: string; decision: ApprovalDecision; viewer: Viewer; nowMs: number },
): Promise<"mend" | null> {
  const mend = await lockBulkOperation(tx, id);
  if (!mend || !seesAll(viewer, sourcesOf(mend.selection))) throw unknownApproval(id);
  const approval = undecided(await latestApproval(tx, id), "the operation needs no approval");
  await refuseAsker(tx, id, viewer);
  refuseOutdated(await mendTermsOf(tx, mend, approval.terms.events), decision.digest);
  const approves = decision.decision === "approve";
  if (!approves) assertReason(decision);
  await endApproval(tx, id, approves ? "give" : "reject", { by: viewer.name, reason: decision.reason ?? null });
  if (!approves) await endBulkOperation(tx, id, "cancel", viewer.name);
  await appendAudit(tx, {
    actor: viewer.name,
    action: approves ? "operation.approved" : "operation.rejected",
    subjectKind: "operation",
    subjectId: id,
    reason: decision.reason ?? null,
    before: { askedBy: approval.askedBy },
    after: { digest: approval.digest, events: approval.terms.events },
    count: 1,
    atMs: nowMs,
  });
  return approves ? "mend" : null;
}
