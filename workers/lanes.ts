import { BULK_SLICE, PLAN_SLICE } from "@/lib/core/lane-slices";
import type { LaneConnection } from "@/lib/lane/connection";
import type { LaneName, LaneWorker, SliceJob, SliceOutcome } from "@/lib/lane/port";
import { startLaneWorker } from "@/lib/lane/worker";
import { planRedrive } from "@/lib/operations/plan-redrive";
import { workBulkOperation } from "@/lib/operations/work-bulk-operation";
import { createBatcher } from "@/lib/redriving/batcher";
import { createPayloadChecker } from "@/lib/redriving/check-payload";
import type { Deps } from "@/lib/redriving/deps";
import { runSlice, whileStoreAway } from "@/lib/redriving/run-slice";
import { createSchemaCheck, type SchemaCheck } from "@/lib/redriving/schema-check";
import type { RedriveSessions } from "@/lib/redriving/session";
import type { ClaimsInHand, SliceDeps, TargetDirectory } from "@/lib/redriving/slice-deps";
import { holdItems, type ItemHold } from "@/lib/store/write/claim-items";
import { type AttemptClose, closeAttempts } from "@/lib/store/write/finish-items";
import { type AttemptIntent, attemptKey, openAttempts } from "@/lib/store/write/open-attempts";

/** Slices at a time. The slow lane is narrow on purpose: it must not take the main lane's place. */
const CONCURRENCY: Record<LaneName, number> = { main: 8, slow: 4 };

/** Intents and closes of one round trip. */
const ATTEMPT_BATCH_MAX = 200;

export type LanesOptions = {
  deps: Deps;
  connection: LaneConnection;
  targets: TargetDirectory;
  sessions: RedriveSessions;
  workerId: string;
  claims: ClaimsInHand;
  stopping: AbortSignal;
};

export type Lanes = { running(): number; stop(graceMs: number): Promise<void> };

/** Works both lanes. Rejects with DomainError `queue-unavailable` when the queue cannot be reached at start. */
export async function startLanes(options: LanesOptions): Promise<Lanes> {
  const schemas = createSchemaCheck(options.deps.clock);
  const sliceDeps = sliceDepsOf(options, schemas);
  const workers: LaneWorker[] = [];
  for (const lane of ["main", "slow"] as const) {
    workers.push(
      await startLaneWorker({
        connection: options.connection,
        lane,
        concurrency: CONCURRENCY[lane],
        run: (job, signal) => {
          const walk = WALKS[job.slice];
          return walk ? runWalk(sliceDeps, job, walk, signal) : runSlice(sliceDeps, job, signal);
        },
        onError: () => undefined,
        log: options.deps.log,
      }),
    );
  }
  return {
    running: () => workers.reduce((sum, worker) => sum + worker.running(), 0),
    stop: async (graceMs) => {
      await Promise.all(workers.map((worker) => worker.stop(graceMs)));
      await schemas.close();
    },
  };
}

/** Jobs that walk a selection and send nothing. */
const WALKS: Record<number, typeof planRedrive> = { [PLAN_SLICE]: planRedrive, [BULK_SLICE]: workBulkOperation };

function runWalk(deps: SliceDeps, job: SliceJob, walk: typeof planRedrive, signal: AbortSignal): Promise<SliceOutcome> {
  return whileStoreAway(deps, job, signal, async () => {
    await walk(deps, job.redriveId, AbortSignal.any([signal, deps.stopping]));
    return { kind: "done" };
  });
}

function sliceDepsOf(
  { deps, targets, sessions, workerId, claims, stopping }: LanesOptions,
  schemas: SchemaCheck,
): SliceDeps {
  const opener = createBatcher<AttemptIntent, boolean>(
    async (intents) => {
      const opened = await openAttempts(deps.db, intents);
      return intents.map((intent) => opened.has(attemptKey(intent.id, intent.attempt)));
    },
    { max: ATTEMPT_BATCH_MAX },
  );
  const closer = createBatcher<{ close: AttemptClose; hold: ItemHold | null }, void>(
    async (ends) => {
      await deps.db.transaction(async (tx) => {
        await closeAttempts(
          tx,
          ends.map(({ close }) => close),
        );
        await holdItems(
          tx,
          ends.flatMap(({ hold }) => hold ?? []),
        );
      });
      return ends.map(() => undefined);
    },
    { max: ATTEMPT_BATCH_MAX },
  );
  return {
    ...deps,
    workerId,
    claims,
    random: Math.random,
    targets,
    checkPayloads: createPayloadChecker(schemas, deps.clock),
    openSession: sessions.open,
    openAttempt: opener.push,
    closeAttempt: (close, hold) => closer.push({ close, hold }),
    stopping,
  };
}
