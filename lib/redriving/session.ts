import { warmUpShare } from "@/lib/core/redrive-rate";
import type { TokenBucket } from "@/lib/lane/port";
import { createBatcher } from "@/lib/redriving/batcher";
import type { Deps } from "@/lib/redriving/deps";
import { type Finish, finishItems } from "@/lib/redriving/finish";
import { bucketSpec } from "@/lib/redriving/rate-bucket";
import { ringNextInLine } from "@/lib/redriving/rings";
import { createTokenFeeder, type TokenFeeder } from "@/lib/redriving/token-feeder";
import type { TargetRow } from "@/lib/store/read/targets";
import { retrying } from "@/lib/store/retrying";
import { type RedriveRow, readRedriveRow } from "@/lib/store/write/redrive";

/** Pause, cancel and a new rate reach running slices this soon. */
const WATCH_MS = 500;

/** Items committed together at the most. */
const FINISH_BATCH_MAX = 250;

/** While the store is away, ends are kept and tried again for this long; then the fence decides who finishes. */
const FINISH_PATIENCE_MS = 60_000;
const FINISH_RETRY_MS = 500;

/** One redrive as this worker works on it: shared by all its slices here. */
export type Session = {
  /** Its row, at most half a second old while the store answers. */
  redrive(): RedriveRow;
  /** Aborts when the redrive no longer runs, or runs on another lane. */
  stopped: AbortSignal;
  /** A token of the redrive's own rate, and one of its warm-up towards that target while it lasts. */
  takeToken(target: WarmUp, signal: AbortSignal): Promise<void>;
  /** Resolves when committed. False: the fence was lost, nothing was changed. */
  finish(finish: Finish): Promise<boolean>;
  release(): void;
};

export type Sessions = {
  /** null = the redrive does not run. */
  open(redriveId: string): Promise<Session | null>;
};

type WarmUp = Pick<TargetRow, "id" | "ratePerSecond" | "warmUpMs">;
type OpenSession = Omit<Session, "release">;

type Shared = {
  opening: Promise<OpenSession | null>;
  /** undefined until it is open, null = the redrive does not run. */
  session: OpenSession | null | undefined;
  users: number;
  stop(): void;
};

function isOpen({ session }: Shared): boolean {
  return session !== undefined && session !== null && !session.stopped.aborted;
}

/** One session a redrive, shared by all its slices in this process: one watch, one rate, one stream of commits. */
export function createSessions(deps: Deps, bucket: TokenBucket): Sessions {
  const known = new Map<string, Shared>();

  async function open(redriveId: string): Promise<Session | null> {
    const shared = join(redriveId);
    let left = false;
    const release = () => {
      if (left) return;
      left = true;
      leave(redriveId, shared);
    };
    try {
      const session = await shared.opening;
      if (session !== null && !session.stopped.aborted) return { ...session, release };
    } catch (error) {
      // Not remembered: the next one to ask reads the redrive again.
      forget(redriveId, shared);
      throw error;
    } finally {
      // Nobody has got this session, so nobody will release it.
      if (!isOpen(shared)) release();
    }
    forget(redriveId, shared);
    // It ended here: it may run again, which a new reading tells.
    return shared.session === null ? null : open(redriveId);
  }

  /** Counts the user before it waits, so that the last one to leave meanwhile does not stop what this one gets. */
  function join(redriveId: string): Shared {
    let shared = known.get(redriveId);
    if (!shared || shared.session?.stopped.aborted) {
      shared = start(redriveId);
      known.set(redriveId, shared);
    }
    shared.users++;
    return shared;
  }

  function leave(redriveId: string, shared: Shared): void {
    shared.users--;
    if (shared.users > 0) return;
    shared.stop();
    forget(redriveId, shared);
  }

  function forget(redriveId: string, shared: Shared): void {
    if (known.get(redriveId) === shared) known.delete(redriveId);
  }

  function start(redriveId: string): Shared {
    const shared: Shared = { opening: read(), session: undefined, users: 0, stop: () => undefined };
    async function read(): Promise<OpenSession | null> {
      const row = await readRedriveRow(deps.db, redriveId);
      const started = row?.state === "RUNNING" ? startSession(deps, bucket, row) : null;
      shared.session = started?.session ?? null;
      shared.stop = started?.stop ?? shared.stop;
      return shared.session;
    }
    return shared;
  }

  return { open };
}

function startSession(deps: Deps, bucket: TokenBucket, first: RedriveRow): { session: OpenSession; stop(): void } {
  let row = first;
  const stopped = new AbortController();
  const feeder = createTokenFeeder({
    bucket,
    clock: deps.clock,
    spec: () => bucketSpec(`redrive:${row.id}`, row.ratePerSecond),
    onError: (error) => deps.log.warn({ redriveId: row.id, err: error }, "token bucket does not answer"),
  });
  /** While a redrive begins, its part of a target's rate: in a bucket of its own that all workers share. null = all of it. */
  const warmUpRate = ({ ratePerSecond, warmUpMs }: WarmUp): number | null => {
    const ranMs = deps.clock.wallMs() - (row.beganAtMs ?? 0);
    if (ratePerSecond === null || ranMs >= warmUpMs) return null;
    return Math.min(ratePerSecond, row.ratePerSecond ?? ratePerSecond) * warmUpShare(ranMs, warmUpMs);
  };
  const warmUps = new Map<string, { target: WarmUp; feeder: TokenFeeder }>();
  const warmUpOf = (target: WarmUp): TokenFeeder => {
    const known = warmUps.get(target.id);
    if (known) {
      known.target = target;
      return known.feeder;
    }
    const feeder = createTokenFeeder({
      bucket,
      clock: deps.clock,
      spec: () => bucketSpec(`warm-up:${row.id}:${target.id}`, warmUpRate(warmUps.get(target.id)!.target)),
      onError: (error) => deps.log.warn({ redriveId: row.id, err: error }, "token bucket does not answer"),
    });
    warmUps.set(target.id, { target, feeder });
    return feeder;
  };
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
    session: {
      redrive: () => row,
      stopped: stopped.signal,
      takeToken: async (target, signal) => {
        await feeder.take(signal);
        if (warmUpRate(target) !== null) await warmUpOf(target).take(signal);
      },
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
  const { won } = await retrying(() => finishItems(deps, redrive.id, batch), {
    patience: {
      clock: deps.clock,
      forMs: FINISH_PATIENCE_MS,
      everyMs: FINISH_RETRY_MS,
      onRetry: (error) =>
        deps.log.warn({ redriveId: redrive.id, items: batch.length, err: error }, "finish not committed, trying again"),
    },
  });
  const aggregates = batch.filter(({ item }) => item.aggregateId !== null && won.has(item.id));
  // Not awaited: the next batch must not wait for the slices of other redrives. It logs its own failure.
  if (aggregates.length > 0) {
    void ringNextInLine(
      deps,
      redrive.id,
      aggregates.map(({ item }) => item.id),
    );
  }
  return batch.map(({ item }) => won.has(item.id));
}
