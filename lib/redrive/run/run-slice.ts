import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobOutcome, LaneName } from "@/lib/lane/port";
import type { SliceAborted } from "@/lib/lane/slice-holds";
import { isPassing, isReadTimeout } from "@/lib/platform/database/retrying";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { openSlices } from "@/lib/redrive/life/open-slices.read";
import { ringRedrive } from "@/lib/redrive/life/rings";
import { canaryAllowance } from "@/lib/redrive/pace/canary-allowance.read";
import { aggregateRuns } from "@/lib/redrive/plan/redrive-plan.pure";
import { examineItems } from "@/lib/redrive/run/examine";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { sendRun } from "@/lib/redrive/run/send";
import type { Session } from "@/lib/redrive/run/session";
import { type SliceSignals, sliceSignals } from "@/lib/redrive/run/slice-signals";
import { type ClaimedItem, sliceRest } from "@/lib/redrive/run/store/claim-items.write";
import { rememberSliceWait } from "@/lib/redrive/run/store/slice-waits.write";
import type { HeldSources } from "@/lib/redrive/targets/target";

const CLAIM_ITEMS_MAX = 100;
/** A claim holds about this much work at the redrive's rate, so that a pause or a crash finds few items claimed. */
const CLAIM_WORK_MS = 10_000;

/** Payloads held in memory for one claim. Several slices run at once, so a claim of large ones is worked in portions. */
const PORTION_BYTES_MAX = 8 * 1024 * 1024;

/** A slice that waits for another redrive is rung by it; were that ring lost, the reconciler rings it after this long. */
const BLOCKED_MS = 15_000;

/** Bounds of the wait before a slice whose open items all wait is looked at again. */
const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 15_000;

/** While the store is away a job keeps its place in the lane and tries again this often. */
const STORE_RETRY_MS = 500;

/** When a job whose statement took too long is tried again. */
const SLOW_STORE_MS = 15_000;

/** A job of a stopping worker is taken back by the lane, and starts elsewhere this soon. */
const STOPPING_MS = 1_000;

/** The slices of one redrive that a job works: one, or all of them while a canary holds the redrive back. */
type Slices = Extract<LaneJob, { kind: "slice" | "canary" }>;

const DONE: JobOutcome = { kind: "done" };
/** Above every slice: a redrive of a billion events has 16 million slices. */
const SLICE_MAX = 900_000_000;

/**
 * Works one slice of a redrive: claim, examine, send in order per aggregate, finish; again until nothing of it may go now.
 * Everything it decides on is read from Postgres, so it may be rung twice, killed at any point, or run beside another
 * worker. Resolves with `again` when items must wait. While the store is away it waits for it; rejects when the store fails
 * otherwise: the reconciler rings anew.
 */
export function runSlice(redriver: Redriver, job: Slices, lane: LaneName, signal: AbortSignal): Promise<JobOutcome> {
  return whileStoreAway(redriver, job, signal, async () => {
    for (;;) {
      const session = await redriver.sessions.open(job.redriveId);
      if (session === null) return DONE;
      const halt = AbortSignal.any([signal, session.stopped, redriver.stopping]);
      try {
        // The job waited in the queue while the redrive changed its lane: it was rung there.
        if (session.redrive().lane !== lane) return DONE;
        const outcome = await workSlice(redriver, session, job, sliceSignals(halt, sendsSignal(signal)));
        if (outcome !== "renewed") return outcome;
      } finally {
        session.release();
      }
    }
  });
}

/** Runs a job of a lane. While the store is away it tries again; rejects when the store fails otherwise. */
export async function whileStoreAway(
  { log, clock, stopping }: Pick<Redriver, "log" | "clock" | "stopping">,
  job: LaneJob,
  signal: AbortSignal,
  run: () => Promise<JobOutcome>,
): Promise<JobOutcome> {
  let away = false;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      if (!away) log.warn({ ...job, err: error }, "job waits for the store");
      // A store that is slow, not away: the job gives its place to others.
      if (isReadTimeout(error)) return { kind: "again", delayMs: SLOW_STORE_MS };
      away = true;
    }
    if (stopping.aborted) return { kind: "again", delayMs: STOPPING_MS };
    // Ends early, with a rejection, only on abort.
    await clock.sleep(STORE_RETRY_MS, AbortSignal.any([signal, stopping])).catch(() => undefined);
  }
}

/**
 * Ends sends under way when the worker stops. A lost lock of the queue ends waits only: the claim in the store is what
 * makes this worker the items' holder, and a send that was cut off would have to be repeated.
 */
function sendsSignal(signal: AbortSignal): AbortSignal {
  const sends = new AbortController();
  const end = () => {
    if ((signal.reason as Partial<SliceAborted>).why !== "lock-lost") sends.abort(signal.reason);
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return sends.signal;
}

async function workSlice(
  redriver: Redriver,
  session: Session,
  job: Slices,
  signals: SliceSignals,
): Promise<JobOutcome | "renewed"> {
  const { redriveId } = job;
  const canary = job.kind === "canary";
  const slices: [number, number] = job.kind === "canary" ? [0, SLICE_MAX] : [job.slice, job.slice];
  while (!signals.halt.aborted) {
    const held = await heldSources(redriver, session);
    const allowance = await canaryAllowance(redriver.keyedDb, redriveId);
    if (canary && allowance === null) return ringReleased(redriver, session);
    // A slice that is rung while the canary still holds the redrive back has nothing to do: the release rings it.
    if (!canary && allowance !== null) return DONE;
    const limit = Math.min(claimLimit(session), allowance ?? CLAIM_ITEMS_MAX);
    const request = { redriveId, slices, limit, withoutSources: held.sourceIds };
    const claimed = limit === 0 ? [] : await redriver.claims.take(request, { canary });
    if (claimed.length === 0) return rest(redriver, job, slices, held);
    const taken = await redriver.claims.holdWhile(claimed, () => workClaim(redriver, session, claimed, signals));
    if (taken === "target-held") return { kind: "again", delayMs: redriver.paces.unreachableMs };
    // Most slices end with their first claim: to count what is open costs less than a claim that finds nothing.
    if ((await sliceRest(redriver.keyedDb, redriveId, slices)).open === 0) return DONE;
  }
  if (!session.stopped.aborted) return { kind: "again", delayMs: STOPPING_MS };
  if (session.renewed()) return "renewed";
  // Cancelled: items that were claimed when the request took back the others. Paused: resume rings.
  await cancelItems(redriver, redriveId, 1);
  return DONE;
}

/** A verify run holds nothing back: it reports the state of the target. */
async function heldSources({ targets }: Redriver, session: Session): Promise<HeldSources> {
  const redrive = session.redrive();
  return redrive.mode === "verify" ? { sourceIds: [], waitMs: Number.POSITIVE_INFINITY } : targets.heldSources(redrive);
}

function claimLimit(session: Session): number {
  const { ratePerSecond } = session.redrive();
  const byRate = ratePerSecond === null ? CLAIM_ITEMS_MAX : Math.ceil((ratePerSecond * CLAIM_WORK_MS) / 1000);
  return Math.min(Math.max(byRate, 1), CLAIM_ITEMS_MAX);
}

async function ringReleased(redriver: Redriver, session: Session): Promise<JobOutcome> {
  const { id, lane } = session.redrive();
  await ringRedrive(redriver, { id, lane, canary: false }, await openSlices(redriver.keyedDb, id));
  return DONE;
}

/**
 * Nothing may go now: again when the first wait ends, if an item waits for a time or for its target. Done when nothing is
 * open, when other jobs of the slice hold what is open, or when it waits for another redrive, which rings it.
 */
async function rest(
  { keyedDb: db, paces }: Redriver,
  job: Slices,
  slices: [number, number],
  held: HeldSources,
): Promise<JobOutcome> {
  const left = await sliceRest(db, job.redriveId, slices);
  if (left.open === 0) return DONE;
  const waits = left.waitMs === null ? [] : [left.waitMs];
  // What a stop holds is rung when the stop is lifted.
  if (held.waitMs < Number.POSITIVE_INFINITY) waits.push(Math.min(held.waitMs, paces.breakerMs));
  if (job.kind === "canary") waits.push(paces.canaryLookMs);
  if (waits.length > 0) {
    return { kind: "again", delayMs: Math.min(Math.max(Math.min(...waits), AGAIN_MS_MIN), AGAIN_MS_MAX) };
  }
  // Items that a stop holds count as blocked, too: nothing rings them but the end of the stop.
  if (job.kind === "slice" && left.blocked > 0 && held.sourceIds.length === 0)
    await rememberSliceWait(db, job.redriveId, job.slice, BLOCKED_MS);
  return DONE;
}

/** One claim from examination to commit. "target-held": a target takes no sends now, its items were handed back. */
async function workClaim(
  redriver: Redriver,
  session: Session,
  claimed: readonly ClaimedItem[],
  signals: SliceSignals,
): Promise<"worked" | "target-held"> {
  let anyHeld = false;
  for (const portion of portions(aggregateRuns(claimed))) {
    const { items, held } = await examineItems(redriver, session, portion, signals.halt);
    anyHeld ||= held;
    const runs = aggregateRuns(items.map((examined) => ({ ...examined.item, examined })));
    const ended = await Promise.allSettled(
      runs.map((run) => {
        const examined = run.map((entry) => entry.examined);
        return sendRun(redriver, session, examined, signals);
      }),
    );
    // Only when no send of the portion is under way any more may the claim be given back.
    const failed = ended.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
  }
  return anyHeld ? "target-held" : "worked";
}

/** Whole runs, together no larger than a portion; a run that is larger by itself is a portion of its own. */
function portions(runs: readonly ClaimedItem[][]): ClaimedItem[][] {
  const result: ClaimedItem[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    const runBytes = run.reduce((sum, item) => sum + item.payloadBytes, 0);
    if (bytes + runBytes > PORTION_BYTES_MAX) {
      result.push([]);
      bytes = 0;
    }
    result.at(-1)!.push(...run);
    bytes += runBytes;
  }
  return result;
}
