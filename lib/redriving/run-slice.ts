import { CANARY_SLICE, SLICE_MAX } from "@/lib/core/lane-slices";
import { aggregateRuns } from "@/lib/core/redrive-plan";
import type { SliceJob, SliceOutcome } from "@/lib/lane/port";
import type { SliceAborted } from "@/lib/lane/slice-holds";
import { cancelItems } from "@/lib/redriving/cancel-items";
import { examineItems } from "@/lib/redriving/examine";
import { ringSlices } from "@/lib/redriving/rings";
import { type SliceSignals, sendRun } from "@/lib/redriving/send";
import type { HeldSources, RedriveSession, SliceDeps } from "@/lib/redriving/slice-deps";
import { canaryAllowance } from "@/lib/store/read/canary-allowance";
import { openSlices } from "@/lib/store/read/open-slices";
import { isPassing, retrying } from "@/lib/store/retrying";
import {
  type ClaimedItem,
  type ClaimRequest,
  claimItems,
  lockCanary,
  releaseClaims,
  renewClaims,
  sliceRest,
} from "@/lib/store/write/claim-items";

/** Items claimed at once. */
const CLAIM_ITEMS_MAX = 100;
/** A claim holds about this much work at the redrive's rate, so that a pause or a crash finds little in hand. */
const CLAIM_WORK_MS = 10_000;
/** How long a claim holds without a sign of life: what a killed worker's items wait before another takes them. */
export const CLAIM_LEASE_MS = 30_000;
const CLAIM_RENEW_MS = CLAIM_LEASE_MS / 3;

/** Payloads held in memory for one claim. Several slices run at once, so a claim of large ones is worked in portions. */
const PORTION_BYTES_MAX = 8 * 1024 * 1024;

/** Open items that wait for no time, but for another redrive's items: looked at again this soon. Each look is a claim. */
const BLOCKED_MS = 2_000;

/** Bounds of the wait before a slice whose open items all wait is looked at again. */
const AGAIN_MS_MIN = 250;
const AGAIN_MS_MAX = 15_000;

/** An open breaker is looked at again at least this often: a person may close it before its time is over. */
const HELD_MS_MAX = 5_000;

/** A target that cannot be reached is looked at again after this long. */
const UNREACHABLE_MS = 2_000;

/** While the store is away a slice keeps its place and tries again this often. */
const STORE_RETRY_MS = 500;

/** A slice that met a stopping worker waits for the lane to take its job back, and starts elsewhere this soon. */
const STOPPING_MS = 1_000;

const DONE: SliceOutcome = { kind: "done" };

/**
 * Works one slice of a redrive: claim, gate, dry run, send in order per aggregate, finish; again until nothing of it may
 * go now. Everything it decides on is read from Postgres, so it may be rung twice, killed at any point, or run beside
 * another worker. Resolves with `again` when items must wait. While the store is away it waits for it; rejects when the
 * store fails otherwise: the reconciler rings anew.
 */
export function runSlice(deps: SliceDeps, job: SliceJob, signal: AbortSignal): Promise<SliceOutcome> {
  return whileStoreAway(deps, job, signal, () => runOnce(deps, job, signal));
}

/** Runs a job of a lane. While the store is away it tries again; rejects when the store fails otherwise. */
export async function whileStoreAway(
  deps: Pick<SliceDeps, "log" | "clock" | "stopping">,
  job: SliceJob,
  signal: AbortSignal,
  run: () => Promise<SliceOutcome>,
): Promise<SliceOutcome> {
  let away = false;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      if (!away) deps.log.warn({ ...job, err: error }, "slice waits for the store");
      away = true;
    }
    if (deps.stopping.aborted) return { kind: "again", delayMs: STOPPING_MS };
    // Ends early, with a rejection, only on abort.
    await deps.clock.sleep(STORE_RETRY_MS, AbortSignal.any([signal, deps.stopping])).catch(() => undefined);
  }
}

async function runOnce(deps: SliceDeps, job: SliceJob, signal: AbortSignal): Promise<SliceOutcome> {
  const session = await deps.openSession(job.redriveId);
  if (session === null) return DONE;
  const halt = AbortSignal.any([signal, session.stopped, deps.stopping]);
  try {
    return await workSlice(deps, session, job, { halt, sends: sendsSignal(signal) });
  } finally {
    session.release();
  }
}

/**
 * Ends sends under way when the worker goes. A lost lock of the queue ends waits only: the claim in the store is what
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
  deps: SliceDeps,
  session: RedriveSession,
  job: SliceJob,
  signals: SliceSignals,
): Promise<SliceOutcome> {
  const { redriveId } = job;
  const slices: [number, number] = job.slice === CANARY_SLICE ? [0, SLICE_MAX] : [job.slice, job.slice];
  while (!signals.halt.aborted) {
    const held = await heldSources(deps, session);
    const limit = await claimLimit(deps, session, job);
    if (limit === "released") return ringReleased(deps, session);
    const request = { redriveId, slices, limit, withoutSources: held.sourceIds };
    const claimed = limit === 0 ? [] : await claim(deps, job, request);
    if (claimed.length === 0) return await rest(deps, job, slices, held);
    const worked = await workClaim(deps, session, claimed, signals);
    if (worked === "held") return { kind: "again", delayMs: UNREACHABLE_MS };
  }
  if (!session.stopped.aborted) return { kind: "again", delayMs: STOPPING_MS };
  // Stopped by a person. Cancelled: what was in hand when the request took back the rest. Paused: resume rings.
  await cancelItems(deps, redriveId, 1);
  return DONE;
}

async function claim(
  deps: SliceDeps,
  job: SliceJob,
  asked: Omit<ClaimRequest, "leaseMs" | "workerId">,
): Promise<ClaimedItem[]> {
  const request = { ...asked, leaseMs: CLAIM_LEASE_MS, workerId: deps.workerId };
  try {
    const claimed = job.slice === CANARY_SLICE ? await claimStep(deps.db, request) : await claimItems(deps.db, request);
    deps.claims.add(claimed);
    return claimed;
  } catch (error) {
    deps.claims.doubt();
    throw error;
  }
}

/** A canary's job may be rung twice: of two that read the allowance before either claims, each would take all of it. */
function claimStep(db: SliceDeps["db"], request: ClaimRequest): Promise<ClaimedItem[]> {
  return db.transaction(async (tx) => {
    await lockCanary(tx, request.redriveId);
    const allowance = await canaryAllowance(tx, request.redriveId);
    const limit = Math.min(request.limit, allowance ?? 0);
    return limit === 0 ? [] : claimItems(tx, { ...request, limit });
  });
}

/** A verify run holds nothing: it reports what is. */
async function heldSources(deps: SliceDeps, session: RedriveSession): Promise<HeldSources> {
  const redrive = session.redrive();
  return redrive.mode === "verify" ? { sourceIds: [], waitMs: 0 } : deps.targets.heldSources(redrive);
}

/** How many items to claim; "released" when this is a canary's job and the canary is over. */
async function claimLimit(deps: SliceDeps, session: RedriveSession, job: SliceJob): Promise<number | "released"> {
  const { ratePerSecond } = session.redrive();
  const byRate = ratePerSecond === null ? CLAIM_ITEMS_MAX : Math.ceil((ratePerSecond * CLAIM_WORK_MS) / 1000);
  const limit = Math.min(Math.max(byRate, 1), CLAIM_ITEMS_MAX);
  const allowance = await canaryAllowance(deps.db, job.redriveId);
  if (job.slice === CANARY_SLICE) return allowance === null ? "released" : Math.min(limit, allowance);
  // A slice rung while the canary still holds the redrive back has nothing to do: the release rings it.
  return allowance === null ? limit : 0;
}

async function ringReleased(deps: SliceDeps, session: RedriveSession): Promise<SliceOutcome> {
  const { id, lane } = session.redrive();
  await ringSlices(deps, lane, id, await openSlices(deps.db, id));
  return DONE;
}

/** Nothing may go now: done when nothing is open, else come back when the first wait ends. */
async function rest(
  deps: SliceDeps,
  job: SliceJob,
  slices: [number, number],
  held: HeldSources,
): Promise<SliceOutcome> {
  if (job.slice !== CANARY_SLICE && (await canaryAllowance(deps.db, job.redriveId)) !== null) return DONE;
  const left = await sliceRest(deps.db, job.redriveId, slices);
  if (left.open === 0) return DONE;
  const blockedMs = held.sourceIds.length > 0 ? Math.min(held.waitMs, HELD_MS_MAX) : BLOCKED_MS;
  const waitMs = left.waitMs || blockedMs;
  return { kind: "again", delayMs: Math.min(Math.max(waitMs, AGAIN_MS_MIN), AGAIN_MS_MAX) };
}

/** One claim from examination to commit. "held": its target does not take sends now, everything was handed back. */
async function workClaim(
  deps: SliceDeps,
  session: RedriveSession,
  claimed: ClaimedItem[],
  signals: SliceSignals,
): Promise<"worked" | "held"> {
  const renewal = keepClaims(deps, claimed);
  try {
    let held = false;
    for (const portion of portions(aggregateRuns(claimed))) {
      held = (await workPortion(deps, session, portion, signals)) || held;
    }
    return held ? "held" : "worked";
  } catch (error) {
    await release(deps, claimed);
    throw error;
  } finally {
    renewal.stop();
    deps.claims.remove(claimed);
  }
}

/** Gives a claim back that cannot be worked. While the store is away it tries again, until the claim ends by itself. */
async function release(deps: SliceDeps, claimed: readonly ClaimedItem[]): Promise<void> {
  const patience = { clock: deps.clock, forMs: CLAIM_LEASE_MS, everyMs: STORE_RETRY_MS, signal: deps.stopping };
  try {
    await retrying(() => releaseClaims(deps.db, claimed), { patience });
  } catch (error) {
    const { redriveId } = claimed[0]!;
    deps.log.warn({ redriveId, err: error }, "claims not released, they end with their lease");
    deps.claims.doubt();
  }
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

/** True = held. */
async function workPortion(
  deps: SliceDeps,
  session: RedriveSession,
  portion: readonly ClaimedItem[],
  signals: SliceSignals,
): Promise<boolean> {
  const { items, held } = await examineItems(deps, session, portion);
  const runs = aggregateRuns(items.map((examined) => ({ ...examined.item, examined })));
  const ended = await Promise.allSettled(
    runs.map((run) =>
      sendRun(
        deps,
        session,
        run.map(({ examined }) => examined),
        signals,
      ),
    ),
  );
  // Only when nothing of the claim is under way any more may it be given back.
  const failed = ended.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return held;
}

/** Renews the claim's hold until stopped. A renewal that fails is tried again: the fence, not the lease, is the guard. */
function keepClaims(deps: SliceDeps, claimed: readonly ClaimedItem[]): { stop(): void } {
  let cancel = () => {};
  let stopped = false;
  const arm = () => {
    cancel = deps.clock.timer(CLAIM_RENEW_MS, () => {
      renewClaims(deps.db, claimed, CLAIM_LEASE_MS)
        .catch((error) => deps.log.warn({ redriveId: claimed[0]?.redriveId, err: error }, "claim not renewed"))
        .finally(() => {
          if (!stopped) arm();
        });
    });
  };
  arm();
  return {
    stop: () => {
      stopped = true;
      cancel();
    },
  };
}
