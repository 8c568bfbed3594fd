import type { Deps } from "@/lib/lane/deps";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobState, LaneName } from "@/lib/lane/port";
import type { Queryable } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { eachAlone } from "@/lib/redrive/life/each-alone";
import { enqueueBehind, enqueueMissing } from "@/lib/redrive/life/enqueue-jobs";
import { lockRedrive } from "@/lib/redrive/life/redrive.write";
import { settleRedrive } from "@/lib/redrive/life/settle-redrive";
import { itemsBehind } from "@/lib/redrive/run/store/item-waits.write";
import { runningBulkOperations } from "@/lib/selection/operations/bulk-operations.write";
import type { RedriveState } from "@/lib/states/redrive-state.pure";
import { LIVE_REDRIVES, OPEN_ITEMS, REDRIVE } from "@/lib/states/state.sql";

const NIL = "00000000-0000-0000-0000-000000000000";

/** Cancelled items given back in one round. */
const CANCEL_CHUNKS = 20;

type Reconciled = { enqueued: number; cancelled: number; settled: number };

/**
 * Rebuilds the queue from Postgres: enqueues every slice with open items that nobody holds, plan and bulk operation whose job the
 * queue has lost, and gives back the open items of cancelled redrives. Idempotent; run every few seconds by the leader, and by a
 * worker that has freed slices. Rejects when the store or the queue is away.
 *
 * `lost`: a worker may be gone, or the queue may have missed an end. Then only a job that any worker can begin now counts as
 * held by the queue: a lost worker may have begun the others, or may have delayed them by a clock of its own.
 */
export async function reconcile(deps: Deps, { lost = false } = {}): Promise<Reconciled> {
  const redrives = await unfinishedRedrives(deps.db);
  let cancelled = 0;
  let settled = 0;
  await eachAlone(deps.log, redrives, "reconciling a redrive", async (redrive) => {
    if (redrive.state === "CANCELLED") cancelled += await cancelItems(deps, redrive.id, CANCEL_CHUNKS);
    else if (redrive.open === 0 && (await settle(deps, redrive.id))) settled++;
  });
  const states: JobState[] | undefined = lost ? ["waiting"] : undefined;
  const enqueued =
    (await enqueueIdle(deps, { all: lost, states })) +
    (await enqueueMissing(deps, "sets", await setsJobs(deps, redrives), states));
  return { enqueued, cancelled, settled };
}

/** Enqueues the slices that may send now and whose jobs the queue does not hold in one of these states, by default in any. */
export async function enqueueIdle(
  deps: Pick<Deps, "db" | "lane">,
  { all, states }: { all: boolean; states?: readonly JobState[] },
): Promise<number> {
  const wanted: Record<LaneName, LaneJob[]> = { main: [], slow: [] };
  const canaries = new Set<string>();
  for (const { redriveId, lane, canary, slice } of await idleSlices(deps.db, { all })) {
    if (!canary) wanted[lane].push({ kind: "slice", redriveId, slice });
    else if (!canaries.has(redriveId)) {
      canaries.add(redriveId);
      wanted[lane].push({ kind: "canary", redriveId });
    }
  }
  return (
    (await enqueueMissing(deps, "main", wanted.main, states)) +
    (await enqueueMissing(deps, "slow", wanted.slow, states))
  );
}

/** Wakes items whose wake-up was lost, among the next of those that wait for an earlier event. Returns where the next call begins. */
export async function wakeForgotten(deps: Pick<Deps, "db" | "lane" | "log">, after = NIL): Promise<string> {
  const ids = await itemsBehind(deps.db, after);
  if (ids.length > 0) await enqueueBehind(deps, null, ids);
  return ids.at(-1) ?? NIL;
}

async function settle(deps: Deps, redriveId: string): Promise<boolean> {
  return inTransaction(deps.db, async (tx) => {
    const redrive = await lockRedrive(tx, redriveId);
    return redrive !== null && (await settleRedrive(tx, redrive, deps.clock.wallMs()));
  });
}

async function setsJobs({ db }: Deps, redrives: Awaited<ReturnType<typeof unfinishedRedrives>>): Promise<LaneJob[]> {
  const planned = redrives.filter(({ state }) => state === "PLANNING");
  return [
    ...planned.map(({ id }): LaneJob => ({ kind: "plan", redriveId: id })),
    ...(await runningBulkOperations(db)).map((id): LaneJob => ({ kind: "bulk", operationId: id })),
  ];
}

/**
 * Operations add the jobs of the redrives that they start or resume: before this time a slice is not missing from the
 * queue.
 */
const RUNG_SOON = "2 s";

/**
 * The slices of running redrives whose jobs the queue must hold: nobody works them, and they have items that may be sent now. Slices of a
 * redrive that started or resumed just now are included only with `all`.
 */
async function idleSlices(
  db: Queryable,
  { all }: { all: boolean },
): Promise<{ redriveId: string; lane: "main" | "slow"; canary: boolean; slice: number }[]> {
  const open = `from open_items i where i.redrive_id = r.id and i.slice = n.slice`;
  return db.query(
    `select r.id as "redriveId", r.lane, r.released is not null as canary, n.slice
       from redrives r cross join lateral generate_series(0, r.slices - 1) n(slice)
      where r.state = ${REDRIVE.RUNNING} and ($1 or coalesce(r.sampled_from < now() - interval '${RUNG_SOON}', true))
        and not exists (select from slice_owners o where o.redrive_id = r.id and o.slice = n.slice and o.owner is not null)
        and (exists (select ${open} and i.not_before is null) or exists (select ${open} and i.not_before <= now()))`,
    [all],
  );
}

/** Redrives that are not final, and cancelled ones that still hold items. `open` counts by the redrive's counters. */
async function unfinishedRedrives(
  db: Queryable,
): Promise<{ id: string; lane: "main" | "slow"; state: RedriveState; open: number }[]> {
  return db.query(
    `select id, lane, state, ${OPEN_ITEMS} as open
       from redrives r
      where state in ${LIVE_REDRIVES}
         or (state = ${REDRIVE.CANCELLED} and ${OPEN_ITEMS} > 0)`,
  );
}
