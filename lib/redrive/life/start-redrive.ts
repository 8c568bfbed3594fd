import { endApproval, overdueApprovals } from "@/lib/guard/approvals/approvals.write";
import { appendAudit, auditRedrive } from "@/lib/guard/audit/audit.write";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { askIfNeeded } from "@/lib/redrive/life/approval";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { eachAlone } from "@/lib/redrive/life/each-alone";
import { enqueuePlan, enqueueRedrive } from "@/lib/redrive/life/enqueue-jobs";
import {
  endTimedWaits,
  lockRedrive,
  moveRedrive,
  type RedriveRow,
  readRedriveRow,
  startableRedrives,
} from "@/lib/redrive/life/redrive.write";
import { closedTargets, readLiveFacts } from "@/lib/redrive/life/stall-facts.read";
import { endBulkOperation, lockBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { openItems, REDRIVE_MOVES, type RedriveState } from "@/lib/states/redrive-state.pure";
import { type Wait, waitsOf } from "@/lib/states/redrive-wait.pure";

const WORKER = "worker";
const UNANSWERED = "nobody approved it in time";

/**
 * Called when a redrive's manifest is complete: asks for an approval if it needs one, and starts the redrive when it
 * waits for nothing. A redrive whose items were all refused is DONE.
 */
export async function startOrFinish(
  tx: Tx,
  redriveId: string,
  nowMs: number,
): Promise<{ state: RedriveState; waitsFor: Wait["for"][] }> {
  const redrive = (await lockRedrive(tx, redriveId))!;
  const by = { actor: redrive.createdBy, nowMs };
  if (openItems(redrive) === 0) return { state: await move(tx, redrive, "empty", by), waitsFor: [] };
  const row = { ...redrive, awaitsApproval: await askIfNeeded(tx, redrive, { nowMs }) };
  const state = await startIfReady(tx, row, by);
  const waits = state === "PLANNED" ? await rowWaits(tx, row, nowMs) : [];
  return { state, waitsFor: waits.map((wait) => wait.for) };
}

/** Starts a PLANNED redrive that waits for nothing any more; its row is locked. Returns its state. */
export async function startIfReady(
  tx: Tx,
  redrive: RedriveRow,
  by: { actor: string; nowMs: number },
): Promise<RedriveState> {
  if (redrive.state !== "PLANNED" || (await rowWaits(tx, redrive, by.nowMs)).length > 0) return redrive.state;
  // The wait for a breaker ends with the start: a breaker that opens later holds the items back as it holds any others.
  if (redrive.breakerUntilMs !== null) await endTimedWaits(tx, redrive.id, { startAt: false });
  return move(tx, redrive, "start", by);
}

/** What a redrive waits for, by the store's clock. */
async function rowWaits(db: Queryable, redrive: RedriveRow, nowMs: number): Promise<Wait[]> {
  const { id, awaitsApproval, startAtMs, startsLater, breakerUntilMs } = redrive;
  const facts = breakerUntilMs === null ? undefined : (await readLiveFacts(db, [id], nowMs)).get(id);
  return waitsOf({
    awaitsApproval,
    approvalUntilMs: null,
    breakerUntilMs,
    nowMs,
    startAtMs: startsLater ? Math.max(startAtMs!, nowMs + 1) : null,
    openBreakers: facts ? closedTargets(facts) : null,
  });
}

async function move(
  tx: Tx,
  redrive: RedriveRow,
  what: "empty" | "start",
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<RedriveState> {
  const { to } = REDRIVE_MOVES[what];
  if (!(await moveRedrive(tx, redrive.id, what))) return redrive.state;
  await auditRedrive(tx, redrive.id, {
    actor,
    action: what === "empty" ? "redrive.finished" : "redrive.started",
    before: { state: redrive.state },
    after: { state: to },
    atMs: nowMs,
  });
  return to;
}

/**
 * Starts the redrives whose wait is over, and ends those whose wait ends without a start: nobody approved in time, or
 * the breaker did not close in time. Run every second; of two workers one starts a redrive, by
 * compare-and-set. The database's clock decides.
 */
export async function startWaiting(deps: Deps): Promise<void> {
  const overdue = (await overdueApprovals(deps.db)).map((approval) => ({ ...approval, id: approval.subjectId }));
  await eachAlone(deps.log, overdue, "ending an overdue approval", async ({ subjectKind, id }) => {
    if (subjectKind === "redrive") await cancelOverdue(deps, id, UNANSWERED, "approval");
    else await cancelOverdueMend(deps, id);
  });
  const startable = await startableRedrives(deps.db);
  const nowMs = deps.clock.wallMs();
  const timed = startable.filter(({ breakerUntilMs }) => breakerUntilMs !== null).map(({ id }) => id);
  const facts = await readLiveFacts(deps.db, timed, nowMs);
  await eachAlone(deps.log, startable, "starting a redrive", async ({ id }) => {
    const live = facts.get(id);
    const open = live ? closedTargets(live) : [];
    if (open?.length !== 0) {
      await cancelOverdue(deps, id, "the breaker of its target did not close in time", "breaker");
      return;
    }
    const state = await inTransaction(deps.db, async (tx) => {
      const redrive = await lockRedrive(tx, id);
      if (redrive === null) return null;
      return (await startIfReady(tx, redrive, { actor: WORKER, nowMs: deps.clock.wallMs() })) === "RUNNING"
        ? redrive.state
        : null;
    });
    if (state === "PLANNED") await enqueueStarted(deps, id);
  });
}

/**
 * Adds the jobs of a redrive that is committed: of its plan, or of these slices once it runs. If the queue cannot be reached, the
 * reconciler adds them later, and nothing is lost.
 */
export async function enqueueStarted(
  deps: Deps,
  redriveId: string,
  options: { slices?: readonly number[]; delayMs?: number | undefined } = {},
): Promise<void> {
  try {
    const redrive = await readRedriveRow(deps.db, redriveId);
    if (redrive?.state === "PLANNING") await enqueuePlan(deps, redriveId);
    if (redrive?.state === "RUNNING") await enqueueRedrive(deps, redrive, options);
  } catch (error) {
    deps.log.warn({ redriveId, err: error }, "enqueue failed, the reconciler will enqueue");
  }
}

/** Cancels a redrive whose wait has ended without a start. Its events are PENDING again. */
async function cancelOverdue(deps: Deps, id: string, reason: string, wait: "approval" | "breaker"): Promise<void> {
  const cancelled = await inTransaction(deps.db, async (tx) => {
    const redrive = await lockRedrive(tx, id);
    if (redrive === null) return false;
    const atMs = deps.clock.wallMs();
    const over = wait === "approval" ? redrive.awaitsApproval : redrive.breakerWaitOver && redrive.state === "PLANNED";
    if (!over) return false;
    if (wait === "approval" && !(await endApproval(tx, id, "expire", { reason }))) return false;
    if (!(await moveRedrive(tx, id, "cancel", { cancelledBy: WORKER, pauseReason: reason }))) return false;
    await auditRedrive(tx, id, {
      actor: WORKER,
      action: "redrive.cancelled",
      reason,
      before: { state: redrive.state },
      after: { state: REDRIVE_MOVES.cancel.to },
      atMs,
    });
    return true;
  });
  if (cancelled) await cancelItems(deps, id, 1);
}

/** A mend that nobody has approved in time is cancelled; it has changed nothing. */
async function cancelOverdueMend(deps: Deps, id: string): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const mend = await lockBulkOperation(tx, id);
    if (!mend?.awaitsApproval || !(await endApproval(tx, id, "expire", { reason: UNANSWERED }))) return;
    await endBulkOperation(tx, id, "cancel", WORKER);
    await appendAudit(tx, {
      actor: WORKER,
      action: "operation.cancelled",
      subjectId: id,
      reason: UNANSWERED,
      before: { state: mend.state },
      after: { changed: 0 },
      atMs: deps.clock.wallMs(),
    });
  });
}
