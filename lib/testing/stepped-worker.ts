import type { OutboundMessage, Publisher, PublishReceipt } from "@/lib/brokers/port";
import type { LaneJob } from "@/lib/lane/jobs.shapes";
import type { JobOutcome, JobState, LaneName, LaneQueue, QueueName } from "@/lib/lane/port";
import type { Clock } from "@/lib/platform/clock";
import { type DatabaseClock, databaseClock } from "@/lib/platform/database/database-clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { createLog } from "@/lib/platform/log";
import { createRedriver, type Redriver } from "@/lib/redrive/run/redriver";
import { runSlice } from "@/lib/redrive/run/run-slice";
import { type ManualClock, manualClock } from "@/lib/testing/manual-clock";

/** One send as the target gets it. It waits until the test answers it. */
export type PendingSend = {
  worker: number;
  message: OutboundMessage;
  /** The worker has given it up. */
  givenUp(): boolean;
  take(): void;
  reject(error: unknown): void;
};

/** A queue that holds its jobs in this process, so that a test may lose them, repeat them and choose their order. */
export type HeldQueue = LaneQueue & { held: { queue: QueueName; job: LaneJob }[] };

export function heldQueue(): HeldQueue {
  const queue: HeldQueue = {
    backend: "postgres",
    held: [],
    enqueue: async (name, jobs) => {
      for (const job of jobs) queue.held.push({ queue: name, job });
    },
    jobs: async (name, states: readonly JobState[] = ["waiting"]) =>
      states.includes("waiting") ? queue.held.filter((one) => one.queue === name).map(({ job }) => job) : [],
    ping: async () => undefined,
    close: async () => undefined,
  };
  return queue;
}

/**
 * A worker in this process whose every statement waits until the test lets it pass. It runs the real slices on a real
 * store; the queue, the target and the time are the test's. Killed, it takes no further step: its statements and its sends
 * never end, as those of a process that is gone.
 */
export type SteppedWorker = {
  readonly id: string;
  readonly number: number;
  /** Begins the job. It goes as far as its first statement. */
  begin(queue: LaneName, job: Extract<LaneJob, { kind: "slice" | "canary" }>): void;
  /** Statements that wait for their turn. */
  waiting(): number;
  /** Lets the statement that has waited longest pass. */
  pass(): void;
  /** A statement is under way. */
  busy(): boolean;
  clock: ManualClock & DatabaseClock;
  kill(): Promise<void>;
  close(): Promise<void>;
};

type Options = {
  number: number;
  databaseUrl: string;
  queue: HeldQueue;
  /** The wall clock of its machine. */
  wallMs: () => number;
  onSend: (send: PendingSend) => void;
  /** A slice ended. */
  onEnd: (queue: LaneName, job: LaneJob, outcome: JobOutcome | { error: unknown }) => void;
};

export function steppedWorker({ number, databaseUrl, queue, wallMs, onSend, onEnd }: Options): SteppedWorker {
  const waiting: (() => void)[] = [];
  let [running, dead] = [0, false];
  const gated = (db: Db): Db => {
    const turn = async <T>(run: () => Promise<T>): Promise<T> => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      running++;
      try {
        return await run();
      } finally {
        running--;
        // A process that is gone hears no answer.
        if (dead) await new Promise(() => undefined);
      }
    };
    return {
      query: (text, values, options) => turn(() => db.query(text, values, options)),
      run: (text, values, options) => turn(() => db.run(text, values, options)),
      transaction: (work, options) => turn(() => db.transaction(work, options)),
      pause: (tries) => db.pause(tries),
      end: () => db.end(),
    };
  };
  const name = `worker-${number}`;
  const store = createDb(databaseUrl, { max: 4, applicationName: name });
  const db = gated(store);
  const machine: ManualClock = { ...manualClock(), wallMs };
  const clock = { ...machine, ...databaseClock(machine, store) };
  const id = uuidv7(Date.now());
  const publisher: Publisher = {
    publish: (message, signal) =>
      new Promise<PublishReceipt>((resolve, reject) => {
        signal.addEventListener("abort", () => dead || reject(signal.reason), { once: true });
        onSend({
          worker: number,
          message,
          givenUp: () => signal.aborted,
          take: () => dead || resolve({ status: "200" }),
          reject: (error) => dead || reject(error),
        });
      }),
    probe: async () => ({ reachable: true, detail: "answers", depth: null, sample: [] }),
    close: async () => undefined,
  };
  const stopping = new AbortController();
  const redriver: Redriver = createRedriver({
    deps: { db, lane: queue, clock: clock as Clock, log: createLog({ level: "silent", process: name }) },
    keyedDb: db,
    bucket: {
      take: async () => ({ granted: true }),
      takeUpTo: async (_, cost) => ({ granted: cost, waitMs: 0, dueMs: 0 }),
      level: async () => null,
      state: () => "shared",
      worst: () => "shared",
    },
    openPublisher: () => publisher,
    random: () => 0.5,
    workerId: id,
    stopping: stopping.signal,
  });
  return {
    id,
    number,
    clock,
    begin: (lane, job) => {
      void runSlice(redriver, job, lane, new AbortController().signal).then(
        (outcome) => dead || onEnd(lane, job, outcome),
        (error) => dead || onEnd(lane, job, { error }),
      );
    },
    waiting: () => waiting.length,
    pass: () => waiting.shift()?.(),
    busy: () => running > 0,
    kill: async () => {
      dead = true;
      while (running > 0) await new Promise((resolve) => setImmediate(resolve));
      await store.end();
    },
    close: async () => {
      dead = true;
      while (running > 0) await new Promise((resolve) => setImmediate(resolve));
      await redriver.close();
      await store.end();
    },
  };
}
