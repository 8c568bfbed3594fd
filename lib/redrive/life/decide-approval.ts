import { type ApprovalSubject, type ApprovalTerms, cannotDecide } from "@/lib/guard/approvals/approval.pure";
import { readAskers, unknownApproval } from "@/lib/guard/approvals/approvals.read";
import type { ApprovalDecision } from "@/lib/guard/approvals/approvals.shapes";
import { type ApprovalRow, endApproval, latestApproval } from "@/lib/guard/approvals/approvals.write";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { digestOf, mendTermsOf, termsOf } from "@/lib/redrive/life/approval";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { enqueueOrLog } from "@/lib/redrive/life/enqueue-jobs";
import { lockRedrive, moveRedrive, type RedriveRow } from "@/lib/redrive/life/redrive.write";
import { enqueueStarted, startIfReady } from "@/lib/redrive/life/start-redrive";
import {
  type BulkOperationRow,
  endBulkOperation,
  lockBulkOperation,
} from "@/lib/selection/operations/bulk-operations.write";
import { sourcesOf } from "@/lib/selection/scope.shapes";

/**
 * Approves or rejects a redrive or a mend that waits for it. It starts at once, unless it waits for something else; a rejected
 * one is cancelled, and its events are PENDING again. ONE transaction, with its row locked: a cancel, a change
 * or another decision is either seen or waits. Throws DomainError `forbidden` for the person who asked,
 * `approval-outdated` when it is not what the digest names, `unknown-approval`, `illegal-transition`.
 */
export async function decideApproval(
  deps: Deps,
  { id, decision }: { id: string; decision: ApprovalDecision },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "approve");
  const nowMs = deps.clock.wallMs();
  const { digest, reason } = decision;
  const approves = decision.decision === "approve";
  const afterCommit = await inTransaction(deps.db, async (tx) => {
    const subject = await lockSubject(tx, id);
    if (!subject || !seesAll(viewer, subject.sources)) throw unknownApproval(id);
    const approval = undecided(await latestApproval(tx, id), subject.none);
    await refuseAsker(tx, id, viewer);
    refuseOutdated(await subject.terms(approval), digest);
    if (!approves) assertReason(decision);
    await endApproval(tx, id, approves ? "give" : "reject", { by: viewer.name, reason: reason ?? null });
    await appendAudit(tx, {
      actor: viewer.name,
      action: `${subject.kind}.${approves ? "approved" : "rejected"}`,
      subjectKind: subject.kind,
      subjectId: id,
      redriveId: subject.kind === "redrive" ? id : null,
      reason: reason ?? null,
      before: { askedBy: approval.askedBy, ...subject.before },
      after: { digest: approval.digest, events: approval.terms.events },
      atMs: nowMs,
    });
    return approves ? subject.start(viewer.name, nowMs) : subject.cancel(viewer.name);
  });
  await afterCommit?.(deps);
}

type AfterCommit = ((deps: Deps) => Promise<void>) | null;

/** What waits for an approval, its row locked. */
type Subject = {
  kind: ApprovalSubject;
  sources: readonly string[] | null;
  /** Why there may be no approval of it. */
  none: string;
  /** What the audit has of it as it was. */
  before: object;
  terms(approval: ApprovalRow): Promise<ApprovalTerms>;
  start(by: string, nowMs: number): Promise<AfterCommit>;
  cancel(by: string): Promise<AfterCommit>;
};

async function lockSubject(tx: Tx, id: string): Promise<Subject | null> {
  const redrive = await lockRedrive(tx, id);
  if (redrive) return subjectOfRedrive(tx, redrive);
  const mend = await lockBulkOperation(tx, id);
  return mend && subjectOfMend(tx, mend);
}

function subjectOfRedrive(tx: Tx, redrive: RedriveRow): Subject {
  const { id, sources, state } = redrive;
  return {
    kind: "redrive",
    sources,
    none:
      state === "PLANNING"
        ? "the redrive is still being frozen: try again when its manifest is complete"
        : "the redrive needs no approval",
    before: { state },
    terms: () => termsOf(tx, redrive),
    start: async (actor, nowMs) => {
      const after = await startIfReady(tx, { ...redrive, awaitsApproval: false }, { actor, nowMs });
      return after === "RUNNING" ? (deps) => enqueueStarted(deps, id) : null;
    },
    cancel: async (cancelledBy) => {
      await moveRedrive(tx, id, "cancel", { cancelledBy });
      return async (deps) => {
        await cancelItems(deps, id, 1).catch((error) => {
          deps.log.warn({ redriveId: id, err: error }, "items not given back, the reconciler gives them back");
        });
      };
    },
  };
}

/** A mend that is approved is worked from here on; a rejected one is cancelled, and has changed nothing. */
function subjectOfMend(tx: Tx, mend: BulkOperationRow): Subject {
  return {
    kind: "operation",
    sources: sourcesOf(mend.selection),
    none: "the operation needs no approval",
    before: {},
    terms: ({ terms }) => mendTermsOf(tx, mend, terms.events),
    start: async () => (deps) => enqueueOrLog(deps, mend.id),
    cancel: async (by) => {
      await endBulkOperation(tx, mend.id, "cancel", by);
      return null;
    },
  };
}

function assertReason({ reason }: ApprovalDecision): void {
  if (reason !== undefined) return;
  throw new DomainError("invalid-request", "A rejection needs a reason", {
    fields: [{ field: "reason", detail: "say why: the person who asked reads it" }],
  });
}

const ENDED = {
  given: "was approved",
  rejected: "was rejected",
  expired: "expired, because nobody answered in time",
  voided: "was voided by a change",
  withdrawn: "was withdrawn, because the redrive or mend ended",
} as const;

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
  throw new DomainError("approval-outdated", "It has changed since you reviewed it: review it again", {
    fields: [{ field: "digest", detail: `is now ${now}` }],
  });
}
