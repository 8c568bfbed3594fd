import type { TokenBucket } from "@/lib/lane/port";
import { createTokenFeeder } from "@/lib/lane/token-feeder";
import { createBatcher } from "@/lib/operations/batcher";
import { type Deps, isPassing } from "@/lib/operations/deps";
import { finishItems } from "@/lib/operations/finish-items";
import type { Finish, RedriveSession } from "@/lib/operations/slice-deps";
import { type RedriveRow, readRedriveRow } from "@/lib/store/write/redrive";
import { bucketSpec } from "./bucket-spec";

/** Pause, cancel and a new rate reach running slices this soon. */
const WATCH_MS = 500;

/** Items committed together at the most. */
const FINISH_BATCH_MAX = 250;

/** While the store is away, ends are kept and tried again for this long; then the fence decides who finishes. */
const FINISH_PATIENCE_MS = 60_000;
const FINISH_RETRY_MS = 500;

export type RedriveSessions = {
  /** null = the redrive does not run. */
  open(redriveId: string): Promise<RedriveSession | null>;
};

type Shared = { session: Omit<RedriveSession, "release">; users: number; stop(): void };

/** One session a redrive, shared by all its slices in this process: one watch, one rate, one stream of commits. */
export function createRedriveSessions(deps: Deps, bucket: TokenBucket): RedriveSessions {
  const shared = new Map<string, Promise<Shared | null>>();

  async function open(redriveId: string): Promise<RedriveSession | null> {
    const opening = shared.get(redriveId) ?? start(redriveId);
    shared.set(redriveId, opening);
    const found = await opening;
    if (found === null || found.session.stopped.aborted) {
      if (shared.get(redriveId) === opening) shared.delete(redriveId);
      return found === null ? null : reopen(redriveId);
    }
    found.users++;
    let released = false;
    return {
      ...found.session,
      release: () => {
        if (released) return;
        released = true;
        found.users--;
        if (found.users > 0) return;
        found.stop();
        if (shared.get(redriveId) === opening) shared.delete(redriveId);
      },
    };
  }

  /** The session known here ended: look once whether the redrive runs again. */
  async function reopen(redriveId: string): Promise<RedriveSession | null> {
    const row = await readRedriveRow(deps.db, redriveId);
    return row?.state === "RUNNING" ? open(redriveId) : null;
  }

  async function start(redriveId: string): Promise<Shared | null> {
    const row = await readRedriveRow(deps.db, redriveId);
    return row?.state === "RUNNING" ? startSession(deps, bucket, row) : null;
  }

  return { open };
}

function startSession(deps: Deps, bucket: TokenBucket, first: RedriveRow): Shared {
  let row = first;
  const stopped = new AbortController();
  const feeder = createTokenFeeder({
    bucket,
    clock: deps.clock,
    spec: () => bucketSpec(`redrive:${row.id}`, row.ratePerSecond),
    onError: (error) => deps.log.warn({ redriveId: row.id, err: error }, "token bucket does not answer"),
  });
  const finisher = createBatcher<Finish, boolean>((batch) => commit(deps, row, batch), { max: FINISH_BATCH_MAX });

  let cancelWatch = () => {};
  let watching = true;
  const watch = () => {
    cancelWatch = deps.clock.timer(WATCH_MS, () => {
      readRedriveRow(deps.db, row.id)
        .then((next) => {
          if (next?.state !== "RUNNING" || next.lane !== row.lane) stopped.abort(new Error("the redrive was stopped"));
          else row = next;
        })
        .catch((error) => deps.log.warn({ redriveId: row.id, err: error }, "redrive not read, working on"))
        .finally(() => {
          if (watching && !stopped.signal.aborted) watch();
        });
    });
  };
  watch();
  return {
    users: 0,
    session: {
      redrive: () => row,
      stopped: stopped.signal,
      takeToken: (signal) => feeder.take(signal),
      finish: (finish) => finisher.push(finish),
    },
    stop: () => {
      watching = false;
      cancelWatch();
    },
  };
}

/** Commits a batch, patiently: what was sent must be marked. Resolves with whether each item was still ours. */
async function commit(deps: Deps, redrive: RedriveRow, batch: Finish[]): Promise<boolean[]> {
  const untilMs = deps.clock.nowMs() + FINISH_PATIENCE_MS;
  for (;;) {
    try {
      const { won } = await finishItems(deps, redrive.id, batch);
      return batch.map(({ item }) => won.has(item.id));
    } catch (error) {
      if (!isPassing(error) || deps.clock.nowMs() > untilMs) throw error;
      deps.log.warn({ redriveId: redrive.id, items: batch.length, err: error }, "finish not committed, trying again");
      await deps.clock.sleep(FINISH_RETRY_MS);
    }
  }
}
