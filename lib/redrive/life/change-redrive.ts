import { auditRedrive } from "@/lib/guard/audit/audit.write";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { awaitOpenSends } from "@/lib/order/controls/await-open-sends";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { reviewApproval } from "@/lib/redrive/life/approval";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { enqueueResumed } from "@/lib/redrive/life/enqueue-jobs";
import {
  endTimedWaits,
  isHeld,
  lockRedrive,
  moveRedrive,
  type RedriveRow,
  restartCanary,
  setRedrive,
} from "@/lib/redrive/life/redrive.write";
import { startIfReady } from "@/lib/redrive/life/start-redrive";
import { assertPace } from "@/lib/redrive/pace/assert-pace";
import type { RedriveChange } from "@/lib/redrive/request/redrive-request.shapes";
import { canaryOf } from "@/lib/redrive/request/request-redrive";
import { readOperationChannels } from "@/lib/selection/operations/operation-channels.read";
import { sameNames, setOperationChannels } from "@/lib/selection/operations/operation-channels.write";
import {
  isFinal,
  nextRedriveState,
  REDRIVE_MOVES,
  type RedriveMove,
  type RedriveState,
} from "@/lib/states/redrive-state.pure";
import { unknownRedrive } from "@/lib/states/unknown.pure";

/**
 * `underWay`: number of events that were still being sent when a pause or cancel answered; null = the store did not
 * answer.
 */
type ChangedRedrive = { underWay: number | null };

/**
 * Pauses, resumes or cancels a redrive, or changes its rate, concurrency or lane. Takes effect immediately and is audited. A
 * change that is already in force changes nothing. An undo is a cancel that is refused once something may have been sent.
 * Pause and cancel wait at most two seconds for the sends under way: no other send begins. Throws DomainError `unknown-redrive`, `illegal-transition`, `invalid-request`.
 */
export async function changeRedrive(
  deps: Deps,
  input: { id: string; change: RedriveChange },
  viewer: Viewer,
): Promise<ChangedRedrive> {
  assertMay(viewer, "redrive");
  const { name: actor } = viewer;
  const nowMs = deps.clock.wallMs();
  const after = await inTransaction(deps.db, async (tx) => {
    const redrive = await lockRedrive(tx, input.id);
    if (!redrive || !seesAll(viewer, redrive.sources)) throw unknownRedrive(input.id);
    if ("action" in input.change && input.change.action === "undo") await assertHeld(tx, redrive);
    const changed = await apply(tx, redrive, input.change, { actor, nowMs, viewer });
    if (!changed) return null;
    await auditChange(tx, redrive, input.change, { ...changed, actor, nowMs });
    const after = await lockRedrive(tx, input.id);
    if (after && !isFinal(after.state)) {
      const sentBefore = "canary" in changed.after ? sentOf(redrive) : null;
      await reviewApproval(tx, after, { actor, nowMs, lane: "lane" in input.change, sentBefore });
    }
    return lockRedrive(tx, input.id);
  });
  if (after) await followUp(deps, after, input.change);
  const stops = "action" in input.change && ["pause", "cancel", "undo"].includes(input.change.action);
  return { underWay: stops ? await awaitOpenSends(deps, { redriveId: input.id }) : 0 };
}

type By = { actor: string; nowMs: number; viewer: Viewer };
type Move = Exclude<Extract<RedriveChange, { action: unknown }>, { action: "start" }>;
type Change = { action: string; before: Record<string, unknown>; after: Record<string, unknown> };

/** null = the redrive is already in that state. */
async function apply(tx: Tx, redrive: RedriveRow, change: RedriveChange, by: By): Promise<Change | null> {
  if ("action" in change)
    return change.action === "start" ? startNow(tx, redrive, by) : applyMove(tx, redrive, change, by);
  if ("tell" in change) {
    refuseIfFinal(redrive, "other channels to tell");
    const before = await readOperationChannels(tx, redrive.id);
    if (sameNames(before, change.tell)) return null;
    await setOperationChannels(tx, redrive.id, change.tell, { viewer: by.viewer, atMs: by.nowMs });
    return { action: "redrive.tell-changed", before: { tell: before }, after: { tell: change.tell } };
  }
  return set(tx, redrive, change);
}

type Setting = "ratePerSecond" | "concurrency" | "lane";
const SETTINGS: Record<Setting, { what: string; action: string }> = {
  ratePerSecond: { what: "another rate", action: "redrive.rate-changed" },
  concurrency: { what: "another number of sends at once", action: "redrive.concurrency-changed" },
  lane: { what: "another lane", action: "redrive.lane-changed" },
};

async function set(tx: Tx, redrive: RedriveRow, change: Partial<Pick<RedriveRow, Setting>>): Promise<Change | null> {
  const [[name, value]] = Object.entries(change) as [[Setting, number | string | null]];
  const { what, action } = SETTINGS[name];
  refuseIfFinal(redrive, what);
  if (redrive[name] === value) return null;
  if (name !== "lane") await assertPace(tx, redrive.id, name, value as number | null);
  await setRedrive(tx, redrive.id, name, value);
  return { action, before: { [name]: redrive[name] }, after: { [name]: value } };
}

/** An undo promises that nothing was sent. Throws DomainError `illegal-transition` when it is too late for that. */
async function assertHeld(tx: Tx, { id, state }: RedriveRow): Promise<void> {
  if (state === "CANCELLED" || (!isFinal(state) && (await isHeld(tx, id)))) return;
  throw new DomainError("illegal-transition", "The hold has ended, so events may have been sent", {
    fields: [
      { field: "action", detail: isFinal(state) ? wayOn(state) : "cancel it to park the remaining events again" },
    ],
  });
}

const PAST: Record<"pause" | "resume" | "cancel", string> = { pause: "paused", resume: "resumed", cancel: "cancelled" };

async function applyMove(tx: Tx, redrive: RedriveRow, change: Move, { actor }: By): Promise<Change | null> {
  const { reason } = change;
  const asked = change.action === "undo" ? "cancel" : change.action;
  const { awaitsApproval, startsLater, breakerUntilMs } = redrive;
  // A redrive that waits for something when it is resumed goes on waiting.
  const waits = asked === "resume" && (awaitsApproval || startsLater || breakerUntilMs !== null);
  const move = waits ? "wait" : asked;
  if (redrive.state === REDRIVE_MOVES[move].to) {
    if (change.action !== "resume") return null;
    // Somebody resumed it before: the pace that is asked for holds all the same.
    const { before, after } = await setPace(tx, redrive, change);
    const { state } = redrive;
    const same = Object.keys(after).length === 0;
    return same ? null : { action: "redrive.resumed", before: { state, ...before }, after: { state, ...after } };
  }
  const to = nextRedriveState(redrive.state, move satisfies RedriveMove);
  if (to === null) {
    throw new DomainError("illegal-transition", `A redrive that is ${redrive.state} cannot be ${PAST[asked]}`, {
      fields: [{ field: "action", detail: wayOn(redrive.state) }],
    });
  }
  await moveRedrive(tx, redrive.id, move, {
    pauseReason: move === "pause" ? `paused by ${actor}${reason ? `: ${reason}` : ""}` : null,
    ...(move === "cancel" ? { cancelledBy: actor } : {}),
  });
  const set = change.action === "resume" ? await setPace(tx, redrive, change) : { before: {}, after: {} };
  return {
    action: `redrive.${PAST[asked]}`,
    before: { state: redrive.state, ...set.before },
    after: { state: to, ...set.after, ...(change.action === "undo" ? { undone: true } : {}) },
  };
}

/** The rate and the canary with which a redrive goes on. */
async function setPace(
  tx: Tx,
  redrive: RedriveRow,
  { ratePerSecond, canary: asked }: Extract<RedriveChange, { action: "resume" }>,
): Promise<Pick<Change, "before" | "after">> {
  const facts: Pick<Change, "before" | "after"> = { before: {}, after: {} };
  if (ratePerSecond !== undefined && ratePerSecond !== redrive.ratePerSecond) {
    const changed = (await set(tx, redrive, { ratePerSecond }))!;
    Object.assign(facts.before, changed.before);
    Object.assign(facts.after, changed.after);
  }
  if (asked !== undefined && redrive.mode === "deliver") {
    const canary = (await canaryOf(tx, asked))!;
    const sent = sentOf(redrive);
    const steps = canary.steps.map((step) => step + sent);
    await restartCanary(tx, redrive.id, { ...canary, steps });
    facts.before.canary = redrive.canary;
    facts.after.canary = { ...canary, steps };
  }
  return facts;
}

function sentOf({ delivered, bounced }: RedriveRow): number {
  return delivered - bounced;
}

/** Ends the wait for a time or a breaker, which an approval was given with: it is reviewed before the start. A redrive that waits for an approval as well still waits for that. */
async function startNow(tx: Tx, redrive: RedriveRow, by: By): Promise<Change | null> {
  const { startsLater, startAtMs, breakerUntilMs } = redrive;
  if (redrive.state !== "PLANNED") {
    if (redrive.state === "RUNNING") return null;
    throw new DomainError("illegal-transition", `A redrive that is ${redrive.state} cannot be started`, {
      fields: [{ field: "action", detail: wayOn(redrive.state) }],
    });
  }
  if (!startsLater && breakerUntilMs === null) {
    throw new DomainError("illegal-transition", "The redrive waits only for an approval", {
      fields: [{ field: "action", detail: "another person approves it: PATCH /api/v1/approvals/{id}" }],
    });
  }
  await endTimedWaits(tx, redrive.id, { startAt: startsLater });
  await reviewApproval(tx, (await lockRedrive(tx, redrive.id))!, { ...by, lane: false, sentBefore: null });
  const state = await startIfReady(tx, (await lockRedrive(tx, redrive.id))!, by);
  const before = { state: redrive.state, startAt: isoOrNull(startAtMs), until: isoOrNull(breakerUntilMs) };
  return { action: "redrive.wait-ended", before, after: { state } };
}

/** What can be done with a redrive whose state does not allow what was asked. */
function wayOn(state: RedriveState): string {
  if (isFinal(state)) return `it is ${state}: start a new redrive`;
  const ways: Partial<Record<RedriveState, string>> = {
    PLANNING: "wait until its manifest is complete, or cancel it",
    PLANNED: "it is not paused: start, pause or cancel it",
    PAUSED: "resume it first, or cancel it",
  };
  return `it is ${state}: ${ways[state] ?? "pause or cancel it"}`;
}

function refuseIfFinal(redrive: RedriveRow, what: string): void {
  if (!isFinal(redrive.state)) return;
  throw new DomainError("illegal-transition", `A redrive that is ${redrive.state} cannot get ${what}`, {
    fields: [{ field: "id", detail: "start a new redrive" }],
  });
}

async function auditChange(
  tx: Tx,
  redrive: RedriveRow,
  change: RedriveChange,
  facts: Change & { actor: string; nowMs: number },
): Promise<void> {
  await auditRedrive(tx, redrive.id, {
    actor: facts.actor,
    action: facts.action,
    reason: "reason" in change ? (change.reason ?? null) : null,
    before: facts.before,
    after: facts.after,
    atMs: facts.nowMs,
  });
}

/** Effects after the commit that a person waits for. The reconciler repeats each of them, so a failure only delays. */
async function followUp(deps: Deps, redrive: RedriveRow, change: RedriveChange): Promise<void> {
  try {
    if (redrive.state === "CANCELLED") await cancelItems(deps, redrive.id, 1);
    const { action } = "action" in change ? change : { action: null };
    const ringsAgain = "lane" in change || action === "resume" || action === "start";
    if (redrive.state !== "RUNNING" || !ringsAgain) return;
    await enqueueResumed(deps, redrive);
  } catch (error) {
    deps.log.warn(
      { redriveId: redrive.id, err: error },
      "follow-up of a redrive change failed, the reconciler repeats it",
    );
  }
}
