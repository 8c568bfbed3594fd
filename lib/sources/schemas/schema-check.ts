import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { SchemaAnswer, SchemaJob, SchemaResult } from "@/lib/sources/schemas/schema-thread";

/**
 * The first thread is shared by all schemas, and none may hold it longer than this, in time of the processor: the others wait. A schema
 * that does goes on in the second thread, with other slow schemas.
 */
const QUICK_MS = 80;
/** A call gives its thread to the next one after this long, or by one payload later. */
const TURN_MS = 250;
/** Bytes of the payloads that go to a thread for one turn. */
const TURN_BYTES_MAX = 4 * 1024 * 1024;
/**
 * One payload, in the second thread, in time of the processor: the same schema and payload are decided on a machine that is busy with
 * other work.
 */
export const SCHEMA_MS_MAX = 1_000;
/** After this many overruns in a row, all further payloads of a call count as overruns. */
const OVERRUNS_IN_A_ROW = 5;
/** Overruns of one call, in a row or not: a claim must not outlive its lease. */
const OVERRUNS_MAX = 10;
/** A schema that was slow is tried in the first thread again after this long. */
const SLOW_MS = 600_000;
const SLOW_SCHEMAS_MAX = 256;
/** A thread that got less than 1 / STARVED_MAX of a processor for this many times its limit is ended all the same: the others wait. */
const STARVED_MAX = 20;
/** A thread that has not begun by then has failed to start. */
const BOOT_MS = 15_000;
/** A schema that builds large values ends its thread instead of the process. */
const THREAD_MEMORY_MB = 192;

/** The result of one payload; null: it took too long. */
export type SchemaOutcome = SchemaResult | null;

export type SchemaCheck = {
  /**
   * Checks payloads against one schema, in their order. Never rejects because of a schema or a payload. `overrunsMax`:
   * the number of overruns after which no further payload is tried. `faultsMax`: faults of one payload at most, 1 unless it is given.
   */
  check(
    schema: string,
    payloads: readonly Uint8Array[],
    options?: { overrunsMax?: number; faultsMax?: number },
  ): Promise<SchemaOutcome[]>;
  close(): Promise<void>;
};

/** The thread's file: as built for production, else the source, which Node runs as it is. */
function threadFile(): string {
  const built = process.env.NODE_ENV === "production";
  return join(process.cwd(), built ? "dist/schema-thread.mjs" : "lib/sources/schemas/schema-thread.ts");
}

export function createSchemaCheck(clock: Clock, { quickMs = QUICK_MS, slowMs = SCHEMA_MS_MAX } = {}): SchemaCheck {
  const quick = createThread(clock, quickMs);
  const slow = createThread(clock, slowMs);
  const slowSchemas = new Map<string, SlowSchema>();

  const slowOf = (schema: string): SlowSchema | null => {
    const known = slowSchemas.get(schema);
    return known && clock.nowMs() - known.sinceMs < SLOW_MS ? known : null;
  };
  const markSlow = (schema: string) => {
    if (slowSchemas.size >= SLOW_SCHEMAS_MAX) slowSchemas.delete(slowSchemas.keys().next().value!);
    slowSchemas.set(schema, { sinceMs: clock.nowMs(), inARow: 0 });
  };

  async function check(
    schema: string,
    payloads: readonly Uint8Array[],
    { overrunsMax = OVERRUNS_MAX, faultsMax = 1 }: { overrunsMax?: number; faultsMax?: number } = {},
  ): Promise<SchemaOutcome[]> {
    const outcomes: SchemaOutcome[] = [];
    const wanted = { schema, faultsMax };
    while (outcomes.length < payloads.length && slowOf(schema) === null) {
      const { results, stuckAt } = await quick.run(
        wanted,
        payloads.slice(outcomes.length),
        () => slowOf(schema) !== null,
      );
      outcomes.push(...results);
      if (stuckAt !== null && results.length <= stuckAt) markSlow(schema);
    }
    if (outcomes.length === payloads.length) return outcomes;
    const known = slowOf(schema)!;
    return [...outcomes, ...(await checkSlow(slow, known, wanted, payloads.slice(outcomes.length), overrunsMax))];
  }

  return {
    check,
    close: async () => {
      await Promise.all([quick.close(), slow.close()]);
    },
  };
}

/** Checks payloads in the second thread, and leaves out those that it does not decide in time. */
async function checkSlow(
  slow: Thread,
  known: SlowSchema,
  wanted: Wanted,
  payloads: readonly Uint8Array[],
  overrunsMax: number,
): Promise<SchemaOutcome[]> {
  const outcomes: SchemaOutcome[] = [];
  const add = (results: readonly SchemaResult[]) => {
    if (results.length > 0) known.inARow = 0;
    outcomes.push(...results);
  };
  for (let overruns = 0; outcomes.length < payloads.length && overruns < overrunsMax; ) {
    const from = outcomes.length;
    const { results, stuckAt } = await slow.run(wanted, payloads.slice(from));
    add(results);
    if (stuckAt === null || results.length > stuckAt) continue;
    // Results before the stuck payload were lost with the thread: those payloads are checked once more, without it.
    for (let ended = false; outcomes.length < from + stuckAt && !ended; ) {
      const again = await slow.run(wanted, payloads.slice(outcomes.length, from + stuckAt));
      add(again.results);
      ended = again.stuckAt !== null;
    }
    outcomes.push(...Array<null>(from + stuckAt + 1 - outcomes.length).fill(null));
    overruns++;
    // Counted over all calls: an endless schema costs each call one try.
    if (++known.inARow >= OVERRUNS_IN_A_ROW) break;
  }
  return [...outcomes, ...Array<null>(payloads.length - outcomes.length).fill(null)];
}

/** A schema that held the first thread for too long. */
type SlowSchema = {
  sinceMs: number;
  /** Payloads that it did not decide, since it last decided one. */
  inARow: number;
};

type ThreadRun = {
  /** Results of the first payloads, as far as the turn went or until the thread ended. */
  results: SchemaResult[];
  /** The payload that took too long or ended the thread. */
  stuckAt: number | null;
};

type Wanted = Pick<SchemaJob, "schema" | "faultsMax">;

type Thread = {
  /** `skip` is called before the run begins: true = nothing is checked here. */
  run(wanted: Wanted, payloads: readonly Uint8Array[], skip?: () => boolean): Promise<ThreadRun>;
  close(): Promise<void>;
};

/** One thread, which takes the calls in turns. It is started when it is needed, and again after it had to be ended. */
function createThread(clock: Clock, limitMs: number): Thread {
  let worker: Worker | null = null;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  async function end(): Promise<void> {
    const ended = worker;
    worker = null;
    await ended?.terminate();
  }

  async function runNow(wanted: Wanted, payloads: readonly Uint8Array[]): Promise<ThreadRun> {
    if (closed) throw new Error("the check of schemas is closed");
    worker ??= startWorker();
    const running = worker;
    const progress = new Int32Array(new SharedArrayBuffer(8));
    const begun = () => Atomics.load(progress, 0);
    const results: SchemaResult[] = [];
    let over = false;
    const ended = Promise.withResolvers<void>();
    const fail = (error: unknown) => {
      if (worker === running) worker = null;
      // Before the first payload the thread itself has failed, later a schema or payload has ended it.
      if (begun() === 0 || closed) ended.reject(new Error("the thread that checks schemas ended", { cause: error }));
      else ended.resolve();
    };
    const onMessage = (answer: SchemaAnswer) => {
      results.push(...answer.results);
      over = answer.last;
      if (over) ended.resolve();
    };
    const endTurn = clock.timer(TURN_MS, () => Atomics.store(progress, 1, 1));
    const stopWatching = watch(clock, { progress: begun, usedMs: () => usedMs(running) }, limitMs, () => void end());
    running.on("message", onMessage).on("error", fail).on("exit", fail);
    try {
      const { bytes, ends } = concatenated(turnOf(payloads));
      running.postMessage({ ...wanted, bytes, ends, progress } satisfies SchemaJob, [bytes.buffer]);
      await ended.promise;
      return { results, stuckAt: over ? null : begun() - 1 };
    } finally {
      stopWatching();
      endTurn();
      running.off("message", onMessage).off("error", fail).off("exit", fail);
    }
  }

  return {
    run: (wanted, payloads, skip = () => false) => {
      const turn = last.then(() => (skip() ? { results: [], stuckAt: null } : runNow(wanted, payloads)));
      last = turn.catch(() => undefined);
      return turn;
    },
    close: async () => {
      closed = true;
      await end();
    },
  };
}

function startWorker(): Worker {
  const worker = new Worker(threadFile(), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
  });
  // The thread alone must not keep the process alive.
  worker.unref();
  return worker;
}

/** Processor time of the thread since its start; null = it has ended. */
async function usedMs(thread: Worker): Promise<number | null> {
  try {
    const { user, system } = await thread.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    return null;
  }
}

type Watched = { progress: () => number; usedMs: () => Promise<number | null> };

/** Calls `onOverrun` once when the thread has used `limitMs` of a processor while `progress` stands at the same payload. */
function watch(clock: Clock, { progress, usedMs }: Watched, limitMs: number, onOverrun: () => void): () => void {
  let at = 0;
  let sinceMs = clock.nowMs();
  let usedBeforeMs: number | null = null;
  let over = false;
  let cancel = () => {};
  const isOverrun = async () => {
    const now = progress();
    if (now !== at) {
      [at, sinceMs, usedBeforeMs] = [now, clock.nowMs(), null];
      return false;
    }
    const elapsedMs = clock.nowMs() - sinceMs;
    if (now === 0) return elapsedMs >= BOOT_MS;
    if (elapsedMs >= limitMs * STARVED_MAX) return true;
    if (usedBeforeMs !== null && elapsedMs < limitMs) return false;
    // Without an answer the thread is looked at again, at most until it counts as starved.
    const used = await atMost(clock, limitMs, usedMs());
    if (usedBeforeMs !== null) return progress() === now && used !== null && used - usedBeforeMs >= limitMs;
    usedBeforeMs = used;
    return false;
  };
  const look = async () => {
    const overrun = await isOverrun();
    if (over) return;
    if (overrun) return onOverrun();
    cancel = clock.timer(limitMs / 4, look);
  };
  cancel = clock.timer(limitMs / 4, look);
  return () => {
    over = true;
    cancel();
  };
}

/** The first payloads, as many as go to a thread for one turn, at least one. */
function turnOf(payloads: readonly Uint8Array[]): readonly Uint8Array[] {
  let count = 0;
  for (let bytes = 0; count < payloads.length && bytes < TURN_BYTES_MAX; count++) bytes += payloads[count]!.byteLength;
  return payloads.slice(0, count);
}

function concatenated(payloads: readonly Uint8Array[]): Pick<SchemaJob, "bytes" | "ends"> {
  const bytes = new Uint8Array(payloads.reduce((sum, payload) => sum + payload.byteLength, 0));
  let end = 0;
  const ends = payloads.map((payload) => {
    bytes.set(payload, end);
    end += payload.byteLength;
    return end;
  });
  return { bytes, ends };
}
