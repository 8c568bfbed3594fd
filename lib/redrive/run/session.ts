import type { Deps } from "@/lib/lane/deps";
import type { TokenBucket } from "@/lib/lane/port";
import { type RedriveRow, readRedriveRow } from "@/lib/redrive/life/redrive.write";
import { bucketSpec } from "@/lib/redrive/pace/rate-bucket";
import { warmUpShare } from "@/lib/redrive/pace/redrive-estimate.pure";
import { createTokenFeeder, type TokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { createFinisher, type Finish } from "@/lib/redrive/run/finish";
import { Bulkhead } from "@/lib/retry/bulkhead";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

/** Pause, cancel and a new rate reach running slices this soon. */
const WATCH_MS = 500;

/** One redrive as this worker works on it: shared by all its slices here. */
export type Session = {
  /** Its row, at most half a second old while the store answers. */
  redrive(): RedriveRow;
  /** Aborts when the redrive no longer runs, runs on another lane, or goes on in another session. */
  stopped: AbortSignal;
  /** True when the session must restart: the new concurrency is below the number of sends in progress. */
  renewed(): boolean;
  /** A token of the redrive's own rate, and one of its warm-up towards that target while it lasts. */
  takeToken(target: WarmUp, signal: AbortSignal): Promise<void>;
  /** Waits for one of the sends at once that the redrive may have in this worker. The caller releases it. */
  takePlace(signal: AbortSignal): Promise<void>;
  releasePlace(): void;
  /** Resolves when committed. False: the fence was lost, nothing was changed. */
  finish(finish: Finish): Promise<boolean>;
  /** Resolves when the items that waited for those that have ended are woken. */
  woken(): Promise<void>;
  release(): void;
};

export type Sessions = {
  /** null = the redrive does not run. */
  open(redriveId: string): Promise<Session | null>;
};

type WarmUp = Pick<TargetRow, "id" | "ratePerSecond" | "warmUpMs" | "resumedAtMs">;
type OpenSession = Omit<Session, "release"> & { stop(): void };

/** The session of one redrive and how many slices use it. The last of them stops it. */
type Shared = { opening: Promise<OpenSession | null>; users: number };

/** One session a redrive, shared by all its slices in this process: one watch, one rate, one stream of commits. */
export function createSessions(deps: Deps, bucket: TokenBucket): Sessions {
  const known = new Map<string, Shared>();

  async function open(redriveId: string): Promise<Session | null> {
    const shared = known.get(redriveId) ?? { opening: start(redriveId), users: 0 };
    known.set(redriveId, shared);
    // Counted before the session is open: another user that leaves meanwhile must not stop it.
    shared.users++;
    const forget = () => {
      if (known.get(redriveId) === shared) known.delete(redriveId);
    };
    let session: OpenSession | null = null;
    let left = false;
    const release = () => {
      if (left) return;
      left = true;
      shared.users--;
      if (shared.users > 0) return;
      session?.stop();
      forget();
    };
    try {
      session = await shared.opening;
      if (session !== null && !session.stopped.aborted) return { ...session, release };
    } catch (error) {
      // Not remembered: the next call reads the redrive again.
      forget();
      release();
      throw error;
    }
    forget();
    release();
    // The session ended before this call got it. The redrive may run again: a new reading says so.
    return session === null ? null : open(redriveId);
  }

  async function start(redriveId: string): Promise<OpenSession | null> {
    const row = await readRedriveRow(deps.db, redriveId);
    return row?.state === "RUNNING" ? startSession(deps, bucket, row) : null;
  }

  return { open };
}

function startSession(deps: Deps, bucket: TokenBucket, first: RedriveRow): OpenSession {
  let row = first;
  const places = new Bulkhead({ permits: placesOf(first), queueMax: Number.POSITIVE_INFINITY });
  const stopped = new AbortController();
  let renewed = false;
  const stopWatch = watchRedrive(deps, first, {
    onChange: (next) => {
      row = next;
      // Items that wait for a token hold a place: hundreds, where there was no limit. They are handed back, and the next
      // session has the places that are asked for now.
      if (places.snapshot().inUse > placesOf(next)) {
        renewed = true;
        stopped.abort(new Error("fewer sends at once are asked for"));
      } else places.resize(placesOf(next));
    },
    onStopped: () => {
      renewed = false;
      stopped.abort(new Error("the redrive was stopped"));
    },
  });
  const feeder = feederOf(deps, bucket, first.id);
  const own = feeder(`redrive:${first.id}`, () => row.ratePerSecond);
  const warmUps = new Map<string, { target: WarmUp; feeder: TokenFeeder }>();
  /** While a redrive begins, its part of a target's rate is in a bucket of its own that all workers share. */
  const warmUpOf = (target: WarmUp): TokenFeeder => {
    const rate = () => warmUpRate(warmUps.get(target.id)!.target, row, deps.clock.wallMs());
    const known = warmUps.get(target.id)?.feeder ?? feeder(`warm-up:${first.id}:${target.id}`, rate);
    warmUps.set(target.id, { target, feeder: known });
    return known;
  };
  const finisher = createFinisher(deps, first.id);
  return {
    redrive: () => row,
    stopped: stopped.signal,
    renewed: () => renewed,
    takeToken: async (target, signal) => {
      await own.take(signal);
      if (warmUpRate(target, row, deps.clock.wallMs()) !== null) await warmUpOf(target).take(signal);
    },
    takePlace: (signal) => takePlace(places, signal),
    releasePlace: () => places.release(),
    finish: (finish) => finisher.push(finish),
    woken: () => finisher.woken(),
    stop: stopWatch,
  };
}

const placesOf = ({ concurrency }: RedriveRow): number => concurrency ?? Number.POSITIVE_INFINITY;

/** Rejects when the signal aborts first: then no place is held. */
function takePlace(places: Bulkhead, signal: AbortSignal): Promise<void> {
  if (places.tryEnter()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const leave = () => {
      if (waiter.leave()) reject(signal.reason);
    };
    const waiter = places.queue(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    })!;
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
}

/** Feeders of the buckets of one redrive; a rate of null is unlimited. */
function feederOf({ clock, log }: Deps, bucket: TokenBucket, redriveId: string) {
  const onError = (error: unknown) => log.warn({ redriveId, err: error }, "token bucket does not answer");
  return (key: string, rate: () => number | null): TokenFeeder =>
    createTokenFeeder({ bucket, clock, spec: () => bucketSpec(key, rate()), onError });
}

/** The part of a target's rate that a redrive may use while it begins, or after a stop; null = all of it. */
function warmUpRate(
  { ratePerSecond, warmUpMs, resumedAtMs }: WarmUp,
  redrive: RedriveRow,
  wallMs: number,
): number | null {
  const ranMs = wallMs - Math.max(redrive.beganAtMs ?? 0, resumedAtMs ?? 0);
  if (ratePerSecond === null || ranMs >= warmUpMs) return null;
  return Math.min(ratePerSecond, redrive.ratePerSecond ?? ratePerSecond) * warmUpShare(ranMs, warmUpMs);
}

/** Reads the redrive regularly, until it no longer runs on this lane. Returns how to stop. */
function watchRedrive(
  { db, clock, log }: Deps,
  { id, lane }: RedriveRow,
  on: { onChange: (next: RedriveRow) => void; onStopped: () => void },
): () => void {
  let cancel = () => {};
  let watching = true;
  const look = async () => {
    try {
      const next = await readRedriveRow(db, id);
      if (next?.state === "RUNNING" && next.lane === lane) on.onChange(next);
      else {
        watching = false;
        on.onStopped();
      }
    } catch (error) {
      log.warn({ redriveId: id, err: error }, "redrive not read, working on");
    }
    if (watching) arm();
  };
  const arm = () => {
    cancel = clock.timer(WATCH_MS, () => void look());
  };
  arm();
  return () => {
    watching = false;
    cancel();
  };
}
