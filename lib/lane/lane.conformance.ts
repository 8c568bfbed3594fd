import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type LaneJob, laneJobKey } from "@/lib/lane/jobs.shapes";
import { systemClock } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { program } from "@/lib/testing/programs";
import type { LaneConnection } from "./connection";
import type { LaneQueue, LaneWorker, QueueName, RunJob } from "./port";
import { createLaneQueue } from "./queue";
import { type LaneWorkerOptions, startLaneWorker } from "./worker";

/** One server that carries the lanes, with the faults that the suite causes. */
export type LaneServer = {
  connection: LaneConnection;
  /** Takes the lock of every active job, as if it had expired and somebody else had the job. */
  stealLocks(): Promise<void>;
  /** Loses all queued jobs. */
  flush(): Promise<void>;
  /** Puts a job with this payload onto a lane, past the producer. */
  addRaw(lane: QueueName, data: unknown): Promise<void>;
  /** Jobs kept in any state, finished ones too. */
  jobsKept(lane: QueueName): Promise<number>;
  /** Closes all connections and refuses new ones. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
};

/** A busy machine pauses a process for less than half of it, after which a lock is renewed. */
const LOCK_MS = 2_000;

type LogLine = { level: string; message: string; fields: Record<string, unknown> };

/** What one worker did. */
type Watched = { worker: LaneWorker; started: LaneJob[]; log: LogLine[]; errors: unknown[] };

/**
 * The guarantees of the lane, for every backend that claims to carry it. `faults` are those of locks and servers: seconds of
 * waiting each.
 */
export function laneConformance(open: () => Promise<LaneServer>, { faults = true } = {}): void {
  let server: LaneServer;
  let queue: LaneQueue;
  let workers: LaneWorker[] = [];

  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    await server.flush();
    queue = createLaneQueue(server.connection, systemClock);
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop(0)));
    workers = [];
    await queue.close();
  });

  async function start(run: RunJob, options: Partial<LaneWorkerOptions> = {}): Promise<Watched> {
    const started: LaneJob[] = [];
    const errors: unknown[] = [];
    const log: LogLine[] = [];
    const write = (level: string) => (fields: Record<string, unknown>, message: string) =>
      log.push({ level, message, fields });
    const worker = await startLaneWorker({
      clock: systemClock,
      connection: server.connection,
      lane: "main",
      concurrency: 3,
      timing: { lockMs: LOCK_MS, stalledCheckMs: LOCK_MS / 2, handBackMs: 1_000 },
      onError: (error) => errors.push(error),
      log: { info: write("info"), warn: write("warn"), error: write("error") },
      run: (job, signal) => {
        started.push(job);
        return run(job, signal);
      },
      ...options,
    });
    workers.push(worker);
    return { worker, started, log, errors };
  }

  describe("carrying", () => {
    test("runs every slice once, with its ids, and keeps nothing of what is done", async () => {
      const jobs = slices(25);
      await queue.enqueue("main", jobs);
      const { started } = await start(done);
      await expect.poll(() => started.length).toBe(25);
      expect(sorted(started)).toEqual(sorted(jobs));
      await expect.poll(() => server.jobsKept("main")).toBe(0);
      expect(await queue.jobs("main")).toEqual([]);
    });

    test("begins a slice at once when the worker is idle", async () => {
      const { started } = await start(done);
      const tookMs: number[] = [];
      for (let times = 1; times <= 6; times++) {
        const rungMs = performance.now();
        await queue.enqueue("main", slices(1));
        await expect.poll(() => started.length, { interval: 5 }).toBe(times);
        tookMs.push(performance.now() - rungMs);
      }
      // A worker that looks from time to time is late at each of them; a busy machine at some.
      expect(Math.min(...tookMs)).toBeLessThan(1_000);
    });

    test("lists what is delayed, waiting and running", async () => {
      const [running, waiting, delayed] = slices(3);
      await start(untilAborted, { concurrency: 1 });
      await queue.enqueue("main", [running!]);
      await expect.poll(() => workers[0]!.running()).toBe(1);
      await queue.enqueue("main", [waiting!]);
      await queue.enqueue("main", [delayed!], { delayMs: 60_000 });
      expect(sorted((await queue.jobs("main"))!)).toEqual(sorted([running!, waiting!, delayed!]));
    });

    test("enqueues many slices and lists them all", async () => {
      const jobs = slices(2_345);
      await queue.enqueue("main", jobs);
      expect(sorted((await queue.jobs("main"))!)).toEqual(sorted(jobs));
    });

    test("a slice enqueued twice may start twice, and is listed once", async () => {
      const jobs = slices(1);
      await queue.enqueue("main", jobs);
      await queue.enqueue("main", jobs);
      expect(await queue.jobs("main")).toEqual(jobs);
      const { started } = await start(done);
      await expect.poll(() => started).toEqual([...jobs, ...jobs]);
    });

    test("a slice that is done can be enqueued again", async () => {
      const jobs = slices(1);
      const { started } = await start(done);
      for (let times = 1; times <= 3; times++) {
        await queue.enqueue("main", jobs);
        await expect.poll(() => started.length).toBe(times);
      }
    });

    test("the lanes are apart", async () => {
      const [main, slow] = [slices(2), slices(3)];
      await queue.enqueue("main", main);
      await queue.enqueue("slow", slow);
      const { started } = await start(done, { lane: "slow" });
      await expect.poll(() => started.length).toBe(3);
      expect(sorted(started)).toEqual(sorted(slow));
      expect(sorted((await queue.jobs("main"))!)).toEqual(sorted(main));
    });

    test("never runs more slices at once than its concurrency", async () => {
      let most = 0;
      await queue.enqueue("main", slices(12));
      const full = Promise.withResolvers<void>();
      const { started, worker } = await start(
        async () => {
          most = Math.max(most, worker.running());
          await full.promise;
          await tick(20);
          return { kind: "done" };
        },
        { concurrency: 3 },
      );
      await expect.poll(() => started.length).toBe(3);
      full.resolve();
      await expect.poll(() => started.length).toBe(12);
      expect(most).toBe(3);
      await expect.poll(() => worker.running()).toBe(0);
    });
  });

  describe("waiting", () => {
    test("holds a delayed slice back, then begins it", async () => {
      const { started } = await start(done);
      const rungMs = performance.now();
      await queue.enqueue("main", slices(1), { delayMs: 600 });
      await expect.poll(() => started.length, { interval: 5 }).toBe(1);
      expect(performance.now() - rungMs).toBeGreaterThanOrEqual(590);
    });

    test("a short wait keeps the slice's place and runs it again", async () => {
      const jobs = slices(1);
      const { started } = await start(
        again([
          { kind: "again", delayMs: 40 },
          { kind: "again", delayMs: 0 },
        ]),
      );
      await queue.enqueue("main", jobs);
      await expect.poll(() => started).toEqual([...jobs, ...jobs, ...jobs]);
      await expect.poll(() => server.jobsKept("main")).toBe(0);
    });

    test("a long wait frees the place for others, and the slice comes back when it is over", async () => {
      const [waits, other] = slices(2);
      const startsMs = new Map<string, number[]>();
      const first = again([{ kind: "again", delayMs: 1_100.4 }]);
      await start(
        (job, signal) => {
          const key = laneJobKey(job);
          startsMs.set(key, [...(startsMs.get(key) ?? []), performance.now()]);
          return key === laneJobKey(waits!) ? first(job, signal) : done();
        },
        { concurrency: 1 },
      );
      await queue.enqueue("main", [waits!]);
      await queue.enqueue("main", [other!]);
      await expect.poll(() => startsMs.get(laneJobKey(waits!))?.length).toBe(2);
      const [firstMs, secondMs] = startsMs.get(laneJobKey(waits!))!;
      expect(secondMs! - firstMs!).toBeGreaterThanOrEqual(1_090);
      expect(startsMs.get(laneJobKey(other!))![0]).toBeLessThan(secondMs!);
      await expect.poll(() => server.jobsKept("main")).toBe(0);
    });

    test("slices that come back for ever leave places to those that have not begun", async () => {
      const jobs = slices(7);
      const keys = jobs.map(laneJobKey);
      const begun = new Set<string>();
      const blocked = (key: string) => keys.indexOf(key) < 5 && !(begun.has(keys[5]!) && begun.has(keys[6]!));
      await start(
        async (job) => {
          begun.add(laneJobKey(job));
          return blocked(laneJobKey(job)) ? { kind: "again", delayMs: 400 } : { kind: "done" };
        },
        { concurrency: 2 },
      );
      await queue.enqueue("main", jobs);
      await expect.poll(() => begun.size).toBe(7);
      await expect.poll(() => server.jobsKept("main")).toBe(0);
    });

    test("a wait inside its place ends with its worker, and the slice is handed back", async () => {
      const { started, worker } = await start(async () => ({ kind: "again", delayMs: 290 }));
      const jobs = slices(1);
      await queue.enqueue("main", jobs);
      await expect.poll(() => started.length).toBeGreaterThan(0);
      await worker.stop(0);
      expect(worker.running()).toBe(0);
      expect(await queue.jobs("main")).toEqual(jobs);
    });
  });

  describe("failing", () => {
    test("a slice that throws is logged with its ids and dropped; the others run on", async () => {
      const [bad, ...good] = slices(6);
      const boom = new Error("boom");
      const { started, log } = await start((job) =>
        laneJobKey(job) === laneJobKey(bad!) ? Promise.reject(boom) : done(),
      );
      await queue.enqueue("main", [bad!, ...good]);
      await expect.poll(() => started.length).toBe(6);
      await expect.poll(() => log).toHaveLength(1);
      expect(log[0]).toMatchObject({ level: "error", message: "job failed", fields: { ...bad, err: boom } });
      await expect.poll(() => queue.jobs("main")).toEqual([]);
      expect(started).toHaveLength(6);
    });

    test.each([[{ kind: "slice", redriveId: "not a uuid", slice: 0 }], [{}], ["text"], [null]])(
      "a job that carries no slice is logged and dropped: %j",
      async (data) => {
        const { started, log } = await start(done);
        await server.addRaw("main", data);
        await expect.poll(() => log.map((line) => line.message)).toEqual(["job failed"]);
        const jobs = slices(1);
        await queue.enqueue("main", jobs);
        await expect.poll(() => started).toEqual(jobs);
      },
    );
  });

  describe.runIf(faults)("locks", () => {
    test("a slice may run for many times its lock and is started once", async () => {
      const runs = [await start(forMs(LOCK_MS * 2)), await start(forMs(LOCK_MS * 2))];
      const jobs = slices(2);
      await queue.enqueue("main", jobs);
      await expect.poll(() => runs.flatMap((one) => one.started).length).toBe(2);
      await expect.poll(() => queue.jobs("main")).toEqual([]);
      expect(sorted(runs.flatMap((one) => one.started))).toEqual(sorted(jobs));
    });

    test("a lost lock aborts the slice, and it starts again", async () => {
      const aborted: unknown[] = [];
      const { started, log } = await start((job, signal) =>
        started.length === 1 ? untilAborted(job, signal).finally(() => aborted.push(signal.reason)) : done(),
      );
      const jobs = slices(1);
      await queue.enqueue("main", jobs);
      await expect.poll(() => started.length).toBe(1);
      await server.stealLocks();
      await expect.poll(() => aborted).toEqual([expect.objectContaining({ why: "lock-lost" })]);
      await expect.poll(() => started.length).toBe(2);
      expect(log.map((line) => line.message)).toContain("slice aborted: its lock was lost");
      await expect.poll(() => queue.jobs("main")).toEqual([]);
    });

    test("a slice whose worker is killed starts on another one", async () => {
      const jobs = slices(1);
      const doomed = doomedWorker(server.connection);
      try {
        await queue.enqueue("main", jobs);
        expect(await holding(doomed)).toEqual(jobs[0]);
      } finally {
        doomed.kill("SIGKILL");
      }
      const { started, log } = await start(done);
      await expect.poll(() => started).toEqual(jobs);
      await expect.poll(() => log.map((line) => line.message)).toContain("job lost its worker, it starts again");
      await expect.poll(() => queue.jobs("main")).toEqual([]);
    });

    test("losing the queue in mid-run aborts what runs, and what is enqueued again starts", async () => {
      const { started } = await start((job, signal) => (started.length === 1 ? untilAborted(job, signal) : done()));
      const jobs = slices(1);
      await queue.enqueue("main", jobs);
      await expect.poll(() => started.length).toBe(1);
      await server.flush();
      expect(await queue.jobs("main")).toEqual([]);
      await queue.enqueue("main", jobs);
      await expect.poll(() => started).toEqual([...jobs, ...jobs]);
      await expect.poll(() => workers[0]!.running()).toBe(0);
    });
  });

  describe("stopping", () => {
    test("hands back what does not end within the grace; another worker has it at once", async () => {
      const aborted: unknown[] = [];
      const first = await start((job, signal) => untilAborted(job, signal).finally(() => aborted.push(signal.reason)));
      const jobs = slices(2);
      await queue.enqueue("main", jobs);
      await expect.poll(() => first.worker.running()).toBe(2);
      await first.worker.stop(50);
      expect(first.worker.running()).toBe(0);
      expect(aborted).toEqual(Array(2).fill(expect.objectContaining({ why: "stopping" })));
      expect(sorted((await queue.jobs("main"))!)).toEqual(sorted(jobs));

      const startMs = performance.now();
      const second = await start(done);
      await expect.poll(() => sorted(second.started), { interval: 5 }).toEqual(sorted(jobs));
      // Far less than the workers of production wait for the lock of a lost one.
      expect(performance.now() - startMs).toBeLessThan(10_000);
      expect([...first.log, ...second.log].filter((line) => line.level === "error")).toEqual([]);
    });

    test("lets a slice finish within the grace, and begins no other", async () => {
      let ended = 0;
      const end = Promise.withResolvers<void>();
      const first = await start(
        async () => {
          await end.promise;
          ended++;
          return { kind: "done" };
        },
        { concurrency: 1 },
      );
      const jobs = slices(3);
      await queue.enqueue("main", jobs);
      await expect.poll(() => first.worker.running()).toBe(1);
      const stopped = first.worker.stop(60_000);
      end.resolve();
      await stopped;
      expect(ended).toBe(1);
      expect(first.started).toHaveLength(1);
      expect(await queue.jobs("main")).toHaveLength(2);
    });

    test("is the same stop when asked twice, and an idle worker waits for no end of the grace", async () => {
      const { worker } = await start(done);
      await Promise.all([worker.stop(3_600_000), worker.stop(3_600_000)]);
    });
  });

  describe.runIf(faults)("without a server", () => {
    test("a start is refused with one clear sentence that names the variable", async () => {
      const refused = await startFailure(unreachable(server.connection));
      expect(refused).toBeInstanceOf(DomainError);
      expect(refused).toMatchObject({
        code: "queue-unavailable",
        message: expect.stringMatching(/REDIS_URL|DATABASE_URL/),
      });
    });

    test("enqueuing and pinging reject, waiting is null and not empty", async () => {
      const lost = createLaneQueue(unreachable(server.connection), systemClock);
      await expect(lost.enqueue("main", slices(1))).rejects.toMatchObject({ code: "queue-unavailable" });
      await expect(lost.ping()).rejects.toMatchObject({ code: "queue-unavailable" });
      expect(await lost.jobs("main")).toBeNull();
      await lost.close();
    });

    test("a queue that lost its server rejects, and works again when it is back", async () => {
      await queue.ping();
      await server.goAway();
      await expect(queue.enqueue("main", slices(1))).rejects.toMatchObject({ code: "queue-unavailable" });
      expect(await queue.jobs("main")).toBeNull();
      await server.comeBack();
      await expect
        .poll(() =>
          queue.ping().then(
            () => "up",
            () => "away",
          ),
        )
        .toBe("up");
      const jobs = slices(1);
      await queue.enqueue("main", jobs);
      expect(await queue.jobs("main")).toEqual(jobs);
    });

    test("a worker outlives the outage, says so once, and takes up work by itself", async () => {
      const { started, errors, log } = await start(done);
      await queue.enqueue("main", slices(1));
      await expect.poll(() => started.length).toBe(1);
      await server.goAway();
      await expect.poll(() => errors.length).toBeGreaterThan(0);
      await tick(1_000);
      // An outage has few kinds of errors (cut, refused), each reported once, however many commands and reconnects fail.
      expect(errors.length).toBeLessThanOrEqual(4);
      expect(log.length).toBeLessThanOrEqual(4);
      await server.comeBack();
      await expect.poll(() => log.at(-1)?.message).toBe("lane queue answers again");
      const jobs = slices(1);
      await expect
        .poll(() =>
          queue.enqueue("main", jobs).then(
            () => "enqueued",
            () => "away",
          ),
        )
        .toBe("enqueued");
      await expect.poll(() => started.slice(1)).toEqual(jobs);
    });

    test("a slice that runs while the server is away for longer than its lock is aborted", async () => {
      const aborted: unknown[] = [];
      const { started } = await start((job, signal) =>
        started.length === 1 ? untilAborted(job, signal).finally(() => aborted.push(signal.reason)) : done(),
      );
      await queue.enqueue("main", slices(1));
      await expect.poll(() => started.length).toBe(1);
      await server.goAway();
      await expect.poll(() => aborted).toEqual([expect.objectContaining({ why: "lock-lost" })]);
      await server.comeBack();
    });

    test("a worker stops also while the server is away", async () => {
      const { worker, started } = await start(untilAborted);
      await queue.enqueue("main", slices(1));
      await expect.poll(() => started.length).toBe(1);
      await server.goAway();
      await worker.stop(0);
      expect(worker.running()).toBe(0);
      await server.comeBack();
    });
  });
}

function slices(count: number): LaneJob[] {
  const redriveId = randomUUID();
  return Array.from({ length: count }, (_, i) => ({ kind: "slice", redriveId, slice: i }));
}

const sorted = (jobs: LaneJob[]) => jobs.map(laneJobKey).sort();

const done = async (): Promise<{ kind: "done" }> => ({ kind: "done" });

/** Ends in the outcomes given, one per run, then in `done`. */
function again(outcomes: Awaited<ReturnType<RunJob>>[]): RunJob {
  const left = [...outcomes];
  return async () => left.shift() ?? { kind: "done" };
}

const untilAborted: RunJob = (_job, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

/** The work of a slice, or the length of an outage; never a wait for an event of the test. */
const tick = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const forMs =
  (ms: number): RunJob =>
  async () => {
    await tick(ms);
    return { kind: "done" };
  };

/** The same kind of connection to a port where no server listens. */
function unreachable(connection: LaneConnection): LaneConnection {
  return connection.kind === "redis"
    ? { kind: "redis", url: `${new URL(connection.url.split(",")[0]!).protocol}//127.0.0.1:1` }
    : { kind: "postgres", connectionString: "postgres://nobody@127.0.0.1:1/none" };
}

function startFailure(connection: LaneConnection): Promise<unknown> {
  const silent = () => {};
  return startLaneWorker({
    clock: systemClock,
    connection,
    lane: "main",
    concurrency: 1,
    run: done,
    onError: silent,
    log: { info: silent, warn: silent, error: silent },
  }).then(
    () => "started",
    (error) => error,
  );
}

function doomedWorker(connection: LaneConnection): ChildProcess {
  const settings = JSON.stringify({ connection, lane: "main", lockMs: LOCK_MS });
  return fork(program("doomed-worker"), [settings]);
}

function holding(worker: ChildProcess): Promise<LaneJob> {
  return new Promise((resolve, reject) => {
    worker.once("message", (message) => resolve((message as { holding: LaneJob }).holding));
    worker.once("exit", (code) => reject(new Error(`the worker process ended with ${code} before it had a slice`)));
  });
}
