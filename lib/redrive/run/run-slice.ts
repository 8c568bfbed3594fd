import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobOutcome, LaneName } from "@/lib/lane/port";
import type { SliceAborted } from "@/lib/lane/slice-holds";
import { isPassing, isReadTimeout } from "@/lib/platform/database/retrying";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { enqueueRedrive } from "@/lib/redrive/life/enqueue-jobs";
import { aggregateRuns } from "@/lib/redrive/plan/redrive-plan.pure";
import { examineItems } from "@/lib/redrive/run/examine";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { sendRun } from "@/lib/redrive/run/send";
import type { Session } from "@/lib/redrive/run/session";
import { type SliceSignals, sliceSignals } from "@/lib/redrive/run/slice-signals";
import type { SliceRange } from "@/lib/redrive/run/slices";
import {
  canaryAllowance,
  readSliceItems,
  readSliceRest,
  SLICE_START,
  type SliceItem,
} from "@/lib/redrive/run/store/slice-items.read";
import type { HeldSources } from "@/lib/redrive/targets/target";

const PAGE_ITEMS_MAX = 100;
/** The pages of all slices hold about this much work at the redrive's rate: few items wait for a token, and a turn ends in time. */
const PAGE_WORK_MS = 10_000;

/** Payloads held in memory for one page. Several slices run at once, so a page of large ones is worked in portions. */
const PORTION_BYTES_MAX = 8 * 1024 * 1024;

/** A job gives its place to the others after this long, and is enqueued behind them. */
const TURN_MS = 2_000;

/** Bounds of the wait before a slice whose open items all wait is looked at again. */
const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 15_000;

/** While the store is away a job keeps its place in the lane and tries again this often. */
const STORE_RETRY_MS = 500;

/** When a job whose statement took too long is tried again. A redrive has few slices, and none of them may be left to go on. */
const SLOW_STORE_MS = 3_000;

/** A job of a stopping worker is taken back by the lane, and starts elsewhere this soon. */
const STOPPING_MS = 1_000;

/** The slices of one redrive that a job works: one, or all of them while a canary holds the redrive back. */
type Slices = Extract<LaneJob, { kind: "slice" | "canary" }>;

const DONE: JobOutcome = { kind: "done" };

/**
 * Works one slice of a redrive while it owns it: reads a page, examines it, sends in order per aggregate, finishes; again until nothing of
 * it may go now, or its turn is over. Everything it decides on is read from Postgres, so it may be enqueued twice, killed at any point, or run
 * beside another worker. Resolves with `again` when items must wait. While the store is away it waits for it; rejects when the store fails
 * otherwise: the reconciler enqueues anew.
 */
export function runSlice(redriver: Redriver, job: Slices, lane: LaneName, signal: AbortSignal): Promise<JobOutcome> {
  return whileStoreAway(redriver, job, signal, async () => {
    for (;;) {
      const session = await redriver.sessions.open(job.redriveId);
      if (session === null) return DONE;
      const halt = AbortSignal.any([signal, session.stopped, redriver.stopping]);
      try {
        // The job waited in the queue while the redrive changed its lane: it was enqueued there.
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
 * Ends sends under way when the worker stops. A lost lock of the queue ends waits only: what makes this worker the owner of the slice is in
 * the store, and a send that was cut off would have to be repeated.
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
  const { id: redriveId, slices } = session.redrive();
  const range: SliceRange = { redriveId, slices: job.kind === "canary" ? [0, slices - 1] : [job.slice, job.slice] };
  const outcome = await redriver.slices.own(range, (epochs) =>
    workOwned(redriver, session, { job, range, epochs }, signals),
  );
  // Another job works it, here or elsewhere.
  if (outcome === null) return DONE;
  if (outcome !== "released") return outcome;
  // The row of the session may be from before the release.
  await enqueueRedrive(redriver, { ...session.redrive(), released: null });
  return DONE;
}

type Owned = { job: Slices; range: SliceRange; epochs: ReadonlyMap<number, bigint> };

/** `released`: the canary holds the redrive back no more, and each slice gets a job of its own. */
async function workOwned(
  redriver: Redriver,
  session: Session,
  { job, range, epochs }: Owned,
  signals: SliceSignals,
): Promise<JobOutcome | "renewed" | "released"> {
  const { keyedDb: db, clock } = redriver;
  const canary = job.kind === "canary";
  const turnEndsMs = clock.nowMs() + TURN_MS;
  let after = SLICE_START;
  while (!signals.halt.aborted) {
    if (clock.nowMs() >= turnEndsMs) return { kind: "again", delayMs: 0 };
    const held = await heldSources(redriver, session);
    const allowance = await canaryAllowance(db, range.redriveId);
    if (canary && allowance === null) return "released";
    // A slice that is enqueued while the canary still holds the redrive back has nothing to do: the release enqueues it.
    if (!canary && allowance !== null) return DONE;
    const limit = Math.min(pageLimit(session), allowance ?? PAGE_ITEMS_MAX);
    const request = { ...range, epochs, after, limit, withoutSources: held.sourceIds };
    // What waited for the last page is among the next one.
    await session.woken();
    const sawAll = after === SLICE_START;
    const page = limit === 0 ? { items: [], after } : await readSliceItems(db, request);
    after = page.after;
    if (page.items.length === 0) return rest(redriver, { job, range, held, sawAll });
    const worked = await workPage(redriver, session, page.items, signals);
    // The next page would hold the same items for as long as the turn lasts.
    if (worked === "lost") return { kind: "again", delayMs: 0 };
    if (worked === "target-held") return { kind: "again", delayMs: redriver.paces.unreachableMs };
  }
  if (!session.stopped.aborted) return { kind: "again", delayMs: STOPPING_MS };
  if (session.renewed()) return "renewed";
  // Cancelled: items that were being sent when the request took back the others. Paused: resume enqueues.
  await cancelItems(redriver, range.redriveId, 1);
  return DONE;
}

/** A verify run holds nothing back: it reports the state of the target. */
async function heldSources({ targets }: Redriver, session: Session): Promise<HeldSources> {
  const redrive = session.redrive();
  return redrive.mode === "verify" ? { sourceIds: [], waitMs: Number.POSITIVE_INFINITY } : targets.heldSources(redrive);
}

function pageLimit(session: Session): number {
  const { ratePerSecond, slices } = session.redrive();
  const byRate = ratePerSecond === null ? PAGE_ITEMS_MAX : Math.ceil((ratePerSecond * PAGE_WORK_MS) / 1000 / slices);
  return Math.min(Math.max(byRate, 1), PAGE_ITEMS_MAX);
}

/**
 * No item may go now: again when the first wait ends, soon where items were handed back, later where their target takes no sends. Done when
 * nothing is open, or what is open waits for other events: their end enqueues it. `sawAll`: the last page was looked for from the start, so
 * that nothing was handed back before its place.
 */
async function rest(
  { keyedDb: db, paces }: Redriver,
  { job, range, held, sawAll }: { job: Slices; range: SliceRange; held: HeldSources; sawAll: boolean },
): Promise<JobOutcome> {
  const { ready, dueMs, sendableMs, holdMs } = await readSliceRest(db, { ...range, withoutSources: held.sourceIds });
  const waits = [];
  if (holdMs !== null) waits.push(holdMs);
  else {
    const canary = job.kind === "canary";
    // What a target that takes no sends has due hides no time of the others.
    for (const ms of [dueMs, sendableMs]) if (ms !== null && ms > 0) waits.push(ms);
    const onlyHeld = sawAll && held.sourceIds.length > 0 && (sendableMs === null || sendableMs > 0);
    if (canary) waits.push(paces.canaryLookMs);
    else if (ready || (dueMs !== null && dueMs <= 0)) waits.push(onlyHeld ? AGAIN_MS_MAX : AGAIN_MS_MIN);
    if (held.waitMs < Number.POSITIVE_INFINITY) waits.push(Math.min(held.waitMs, paces.breakerMs));
  }
  if (waits.length === 0) return DONE;
  return { kind: "again", delayMs: Math.min(Math.max(Math.min(...waits), AGAIN_MS_MIN), AGAIN_MS_MAX) };
}

/**
 * One page from examination to commit. "target-held": a target takes no sends now, its items were handed back. "lost": the store refused
 * the end of an item, which this worker may own no more.
 */
async function workPage(
  redriver: Redriver,
  session: Session,
  page: readonly SliceItem[],
  signals: SliceSignals,
): Promise<"worked" | "target-held" | "lost"> {
  let anyHeld = false;
  for (const portion of portions(aggregateRuns(page))) {
    const { items, held } = await examineItems(redriver, session, portion, signals.halt);
    anyHeld ||= held;
    const runs = aggregateRuns(items.map((examined) => ({ ...examined.item, examined })));
    const ended = await Promise.allSettled(
      runs.map((run) => {
        const examined = run.map((entry) => entry.examined);
        return sendRun(redriver, session, examined, signals);
      }),
    );
    // Only when no send of the portion is under way any more may the slice be given back.
    const failed = ended.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
    if (ended.some((end) => end.status === "fulfilled" && !end.value)) return "lost";
  }
  return anyHeld ? "target-held" : "worked";
}

/** Whole runs, together no larger than a portion; a run that is larger by itself is a portion of its own. */
function portions(runs: readonly SliceItem[][]): SliceItem[][] {
  const result: SliceItem[][] = [];
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
