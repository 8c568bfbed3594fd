import { createHash } from "node:crypto";
import { type ApprovalTerms, approvalCauses, exceeds } from "@/lib/guard/approvals/approval.pure";
import {
  type ApprovalRow,
  endApproval,
  insertApproval,
  latestApproval,
  manifestHash,
  markedPlacesOf,
  markedSourcesOfMend,
  mendHash,
  restateApproval,
} from "@/lib/guard/approvals/approvals.write";
import { appendAudit, auditRedrive } from "@/lib/guard/audit/audit.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { canonicalJson } from "@/lib/platform/plain/json-text.pure";
import { moveRedrive, type RedriveRow } from "@/lib/redrive/life/redrive.write";
import type { BulkOperationRow } from "@/lib/selection/operations/bulk-operations.write";
import { openItems } from "@/lib/states/redrive-state.pure";

/** What a redrive's approval is for, as the redrive is now. Its row is locked. */
export async function termsOf(tx: Tx, redrive: RedriveRow): Promise<ApprovalTerms> {
  const manifest = await manifestHash(tx, redrive.id);
  return { manifest, events: redrive.total, ...changeableTerms(redrive), recipe: null };
}

/** The terms beside the manifest, which only its own operations change. */
function changeableTerms(redrive: RedriveRow) {
  const { lane, target, ratePerSecond, canary, brake, earlier, despite, startAtMs } = redrive;
  const startAt = startAtMs === null ? {} : { startAt: iso(startAtMs) };
  return { lane, target, ratePerSecond, canary, brake, earlier, despite, ...startAt };
}

/** Names the terms: equal terms have equal digests. */
export function digestOf(terms: ApprovalTerms): string {
  return createHash("sha256").update(canonicalJson(terms)).digest("hex");
}

/**
 * Asks for the approval of a redrive whose manifest is complete, when its size or a marked source or target needs one.
 * A verify run sends nothing and needs none. `by`: who asks, if not its requester. Returns whether it waits for one.
 */
export async function askIfNeeded(
  tx: Tx,
  redrive: RedriveRow,
  { nowMs, by = redrive.createdBy }: { nowMs: number; by?: string },
): Promise<boolean> {
  if (redrive.mode === "verify") return false;
  const { approvalAbove } = await readSettings(tx);
  const marked = await markedPlacesOf(tx, redrive);
  const causes = approvalCauses({ events: openItems(redrive), above: approvalAbove, ...marked });
  if (causes.length > 0) await ask(tx, redrive, { causes, terms: await termsOf(tx, redrive), nowMs, by });
  return causes.length > 0;
}

type Subject = Pick<ApprovalRow, "subjectKind" | "subjectId"> & { askedBy: string; reason: string };
type Asking = Pick<ApprovalRow, "causes" | "terms"> & { nowMs: number; by?: string; changed?: string[] };

function ask(tx: Tx, redrive: RedriveRow, { by, changed, ...asking }: Asking): Promise<void> {
  const reason = changed ? `the approval no longer covers it: ${changed.join(", ")}` : redrive.reason;
  const askedBy = by ?? redrive.createdBy;
  return askFor(tx, { subjectKind: "redrive", subjectId: redrive.id, askedBy, reason }, asking);
}

async function askFor(
  tx: Tx,
  { subjectKind, subjectId, askedBy, reason }: Subject,
  { causes, terms, nowMs }: Pick<Asking, "causes" | "terms" | "nowMs">,
): Promise<void> {
  const { approvalWaitMs } = await readSettings(tx);
  const digest = digestOf(terms);
  const facts = { subjectKind, subjectId, causes, terms, digest, askedBy };
  await insertApproval(tx, { id: uuidv7(nowMs), ...facts, waitMs: approvalWaitMs });
  await appendAudit(tx, {
    actor: askedBy,
    action: `${subjectKind}.approval-asked`,
    subjectKind,
    subjectId,
    redriveId: subjectKind === "redrive" ? subjectId : null,
    reason,
    after: { digest, causes },
    atMs: nowMs,
  });
}

type Mend = Pick<BulkOperationRow, "id" | "createdBy" | "reason" | "options">;

/** What a mend's approval is for. Its row is locked, or not committed yet. */
export async function mendTermsOf(tx: Tx, { id, options }: Mend, events: number): Promise<ApprovalTerms> {
  const { recipe, breaking } = options;
  return {
    manifest: await mendHash(tx, id),
    events,
    lane: null,
    target: null,
    ratePerSecond: null,
    canary: null,
    brake: null,
    earlier: null,
    despite: [],
    recipe: { recipe, breaking: breaking === true },
  };
}

/** Asks for the approval of a mend of `events` frozen events, when its size or a marked source needs one. */
export async function askForMend(tx: Tx, mend: Mend, events: number, nowMs: number): Promise<void> {
  const { approvalAbove } = await readSettings(tx);
  const sources = await markedSourcesOfMend(tx, mend.id);
  const causes = approvalCauses({ events, above: approvalAbove, sources, targets: [] });
  if (causes.length === 0) return;
  const subject = {
    subjectKind: "operation",
    subjectId: mend.id,
    askedBy: mend.createdBy,
    reason: mend.reason,
  } as const;
  await askFor(tx, subject, { causes, terms: await mendTermsOf(tx, mend, events), nowMs });
}

/**
 * After a change of a redrive, whose row is locked and read after the change: an approval that was given is voided when
 * the redrive is now more than what was approved, a new one is asked for, and nothing more is sent until it is given.
 * An approval that is asked for is restated, and who made it more is the one who asks. A redrive that needed none may
 * need one on another lane (`lane`). `sentBefore`: see `exceeds`.
 */
export async function reviewApproval(
  tx: Tx,
  redrive: RedriveRow,
  change: { actor: string; nowMs: number; lane: boolean; sentBefore: number | null },
): Promise<void> {
  const { actor, nowMs } = change;
  const latest = await latestApproval(tx, redrive.id);
  if (latest === null && change.lane && redrive.state !== "PLANNING") {
    if (await askIfNeeded(tx, redrive, { nowMs, by: actor })) await waitAgain(tx, redrive);
    return;
  }
  if (latest?.state !== "asked" && latest?.state !== "given") return;
  const { startAt: _, ...kept } = latest.terms;
  const terms = { ...kept, ...changeableTerms(redrive) };
  const changed = exceeds(latest.terms, terms, change.sentBefore);
  if (latest.state === "asked") {
    // The people who asked are kept: a requester who makes it more is one of them already.
    const askedBy = changed.length === 0 || actor === redrive.createdBy ? latest.askedBy : actor;
    await restateApproval(tx, latest.id, { terms, digest: digestOf(terms), askedBy });
    return;
  }
  if (changed.length === 0) return;
  await endApproval(tx, redrive.id, "void", { by: actor, reason: `changed: ${changed.join(", ")}` });
  await auditRedrive(tx, redrive.id, {
    actor,
    action: "redrive.approval-voided",
    reason: `changed: ${changed.join(", ")}`,
    before: { digest: latest.digest, approvedBy: latest.decidedBy },
    atMs: nowMs,
  });
  await ask(tx, redrive, { causes: latest.causes, terms, nowMs, by: actor, changed });
  await waitAgain(tx, redrive);
}

async function waitAgain(tx: Tx, { id, state }: RedriveRow): Promise<void> {
  if (state === "RUNNING") await moveRedrive(tx, id, "wait");
}
