import type { Job } from "bullmq";
import { jobMessage } from "@/lib/brokers/bullmq/job-message";
import {
  describeStore,
  type FailedJob,
  type JobQueue,
  type JobStore,
  JobStoreFailure,
  openJobStore,
  storeAddress,
} from "@/lib/brokers/bullmq/job-store";
import { type BullmqConfig, bullmq } from "@/lib/brokers/bullmq/kind.shapes";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { poll } from "@/lib/brokers/poll";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import type { Clock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const PAGE = 100;
const POLL_MS = 1_000;
/** How often the whole failed set is gone through again, for jobs that the newest page did not show. */
const WALK_EVERY_MS = 60_000;

/** Pause after a walk that found a skipped job: where the clocks of machines differ each walk finds one, and a large set costs a pause. */
export function soonAgainMs(walkTookMs: number): number {
  return Math.min(walkTookMs, WALK_EVERY_MS);
}

export function bullmqReader(config: BullmqConfig, deps: AdapterDeps): Reader<FailedJob> {
  return {
    what: bullmq.reads(config)!,
    batchMax: PAGE,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const store = await openJobStore(config, { name: "parkade-source", signal }, deps);
      try {
        await assertQueue(store, config);
        return new FailedSetSession(store, config, deps.clock);
      } catch (error) {
        await store.close();
        throw error;
      }
    },
    describe: (error) => describeStore(error, config),
  };
}

export async function assertQueue(store: JobStore, config: BullmqConfig): Promise<void> {
  if (await store.exists(config.queue)) return;
  throw new JobStoreFailure("BULLMQ_NO_QUEUE", `queue ${config.queue} does not exist on ${storeAddress(config)}`);
}

/** A failed job as a dead letter; null when it is gone, or when this failure of it is parked. */
export async function letterOf(
  store: JobStore,
  config: BullmqConfig,
  job: Job,
): Promise<{ letter: DeadLetter; failure: FailedJob } | null> {
  const { queue: name, mapping = {} } = config;
  const finishedOn = job.finishedOn ?? 0;
  const stored = await store.stored(name, job.id!);
  if (stored === null || stored.marks.parked === finishedOn) return null;
  return {
    letter: readDeadLetter(jobMessage(job, stored.data, stored.marks), mapping),
    failure: { id: job.id!, finishedOn },
  };
}

/**
 * Goes through the failed set, oldest first, then looks at its newest jobs, and now and then goes through all of it again.
 * A job stays in the set when it is parked: its mark says so, and a redrive retries it there. The pages move meanwhile: a job
 * that is retried leaves the set, and PostgreSQL gives jobs that failed in one millisecond in another order once one is
 * marked. A walk that finds a job which the walk before it passed by is therefore followed by one more soon.
 */
class FailedSetSession implements ReadSession<FailedJob> {
  readonly inHandMax = Number.POSITIVE_INFINITY;
  private readonly store: JobStore;
  private readonly queue: JobQueue;
  private readonly config: BullmqConfig;
  private readonly clock: Clock;
  /** The failures that need no look: parked, or in hand. What a whole walk has not met any more is forgotten. */
  private known = new Map<string, number>();
  private knownBefore = new Map<string, number>();
  /** Position of the walk through the whole set; null = it is done. */
  private walkAt: number | null = 0;
  private walkBeganMs: number;
  private walkAgainMs = 0;
  /** Newest `finishedOn` seen, now and when the walk began. A job that failed earlier but appears only now was skipped by the walk. */
  private newest = 0;
  private newestBefore = Number.POSITIVE_INFINITY;
  private passedBy = false;

  constructor(store: JobStore, config: BullmqConfig, clock: Clock) {
    this.store = store;
    this.queue = store.queue(config.queue);
    this.config = config;
    this.clock = clock;
    this.walkBeganMs = clock.nowMs();
  }

  take(_: number, signal: AbortSignal, withinMs?: number): Promise<Taken<FailedJob>[]> {
    return poll(() => this.look(signal), { clock: this.clock, signal, everyMs: POLL_MS, withinMs });
  }

  private async look(signal: AbortSignal): Promise<Taken<FailedJob>[]> {
    this.store.assertOpen();
    if (this.walkAt === null && this.clock.nowMs() >= this.walkAgainMs) {
      this.walkAt = 0;
      this.walkBeganMs = this.clock.nowMs();
      this.knownBefore = this.known;
      this.known = new Map();
      this.newestBefore = this.newest;
      this.passedBy = false;
    }
    while (this.walkAt !== null && !signal.aborted) {
      const page = await this.page(this.walkAt, true);
      this.walkAt = page.length < PAGE ? null : this.walkAt + PAGE;
      const fresh = await this.fresh(page);
      this.passedBy ||= fresh.some(({ handle }) => handle.finishedOn <= this.newestBefore);
      if (this.walkAt === null) {
        const nowMs = this.clock.nowMs();
        this.walkAgainMs = nowMs + (this.passedBy ? soonAgainMs(nowMs - this.walkBeganMs) : WALK_EVERY_MS);
      }
      if (fresh.length > 0) return fresh;
    }
    return this.fresh(await this.page(0, false));
  }

  /** `oldestFirst`: the direction of the walk; the newest page shows the jobs that have just failed. */
  private page(start: number, oldestFirst: boolean): Promise<FailedJob[]> {
    return this.store.failed(this.config.queue, { start, count: PAGE, oldestFirst });
  }

  /**
   * The failures that are not known yet. Only their jobs are read: a parked job stays in the set, and reading all of them
   * once a minute would move gigabytes. A job of the set is gone when its key was removed by other means than BullMQ.
   */
  private async fresh(failures: readonly FailedJob[]): Promise<Taken<FailedJob>[]> {
    const look = async ({ id, finishedOn }: FailedJob): Promise<Taken<FailedJob>[]> => {
      const known = (this.known.get(id) ?? this.knownBefore.get(id)) === finishedOn;
      const job = known ? null : await this.queue.getJob(id);
      const read = job ? await letterOf(this.store, this.config, job) : null;
      this.known.set(id, finishedOn);
      return read === null ? [] : [{ letter: read.letter, handle: read.failure, deliveries: 0 }];
    };
    const taken = (await Promise.all(failures.map(look))).flat();
    for (const { handle } of taken) this.newest = Math.max(this.newest, handle.finishedOn);
    return taken.sort((left, right) => left.handle.finishedOn - right.handle.finishedOn);
  }

  async acknowledge(failures: readonly FailedJob[]): Promise<void> {
    const { queue } = this.config;
    const parked = failures.map(({ id, finishedOn }) =>
      this.store.mark(queue, id, { parked: finishedOn, redrive: null }),
    );
    await Promise.all(parked);
  }

  async lag(): Promise<Lag> {
    const failed = await this.queue.getFailedCount();
    // Only the walk knows how many of them are parked.
    return { total: this.walkAt === null ? 0 : Math.max(0, failed - this.walkAt), parts: [] };
  }

  assertOpen(): void {
    this.store.assertOpen();
  }

  async close(): Promise<void> {
    await this.store.close();
  }
}
