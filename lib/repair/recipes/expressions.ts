import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import type { Clock } from "@/lib/platform/clock";
import { createFairQueue } from "@/lib/platform/fair-queue";
import type { ExpressionAnswer, ExpressionJob, ExpressionResult } from "./expression-process";

/** One evaluation. Most take a tenth of a millisecond; a hundred thousand that take this long take six hours. */
const LIMIT_MS = 200;
/** After this many of one call in a row, the others count as too slow too: a batch must not hold its chunk for minutes. */
const OVERRUNS_MAX = 5;
/** An expression that builds large values ends its process instead of this one. */
const MEMORY_MB = 96;
/** Events of the first run of a turn: the process goes on with more. */
const TOGETHER = 16;
/** Events that are tried one by one after the process ended: a run has as many at most. */
const ALONE = 128;
/** A call gives the process to the next person's after this long. It may take longer by one run, see `expression-process.ts`. */
const TURN_MS = 250;
/** Characters of the payloads that go to the process for one turn. */
const TURN_CHARS_MAX = 1024 * 1024;
const CLOSED = "the evaluation of expressions is closed";
/** Starting the process, and parsing the expression. */
const BOOT_MS = 15_000;
/** Time from one answer of the process to the next, in limits: a run of several, again without the one that was stopped, and that one alone, up to five times. */
const RUN_LIMITS = 12;

/** `expression-memory`: the process reached its limit and was replaced; `expression-killed`: somebody else ended it, twice. */
export type Evaluated = ExpressionResult | { fault: "expression-memory" | "expression-killed"; detail: null };

/** `memory`, `killed` and `late`: the process ended before its job, by its limit, from outside, or because it took too long. */
type JobEnd = "done" | "memory" | "killed" | "late" | { unusable: string };

export type Expressions = {
  /**
   * Evaluates each input. Calls of one `asker` take turns among themselves, and with those of others. `take` gets the results in the order of the inputs, some at a time, while the process goes on.
   * Resolves when it has all of them: null, or why the expression cannot be parsed.
   */
  evaluate(
    job: Pick<ExpressionJob, "expression" | "inputs" | "charsMax"> & { asker: string },
    take: (results: readonly Evaluated[]) => void,
  ): Promise<{ unusable: string } | null>;
  close(): Promise<void>;
};

function processFile(): string {
  const built = process.env.NODE_ENV === "production";
  return join(process.cwd(), built ? "dist/expression-process.mjs" : "lib/repair/recipes/expression-process.ts");
}

/** The process in which jobs run: started when it is needed, and again after it had to be ended. */
function createProcess(clock: Clock, limitMs: number) {
  let child: ChildProcess | null = null;
  let closed = false;

  function start(): ChildProcess {
    const limits = [`--max-old-space-size=${MEMORY_MB}`, "--max-semi-space-size=8"];
    // Not `fork`: the compiler of the console resolves its file as a module, and it is built beside the console.
    const started = spawn(process.execPath, [...limits, processFile()], {
      env: { NODE_ENV: process.env.NODE_ENV },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    const onEnd = () => {
      if (child === started) child = null;
    };
    // The channel ends after the last answer was read; a process that could not be started has an error alone.
    started.on("disconnect", onEnd).on("error", onEnd);
    if (started.pid === undefined) throw new Error("the process of expressions could not be started");
    // The evaluation alone must not keep this process alive.
    started.unref();
    started.channel?.unref();
    return started;
  }

  /** How the process came to the end of a job. */
  async function run(job: ExpressionJob, take: (results: readonly Evaluated[]) => void): Promise<JobEnd> {
    if (closed) throw new Error(CLOSED);
    child ??= start();
    const running = child;
    const end = Promise.withResolvers<JobEnd>();
    let late = false;
    const onMessage = (answer: ExpressionAnswer) => {
      if ("unusable" in answer) return end.resolve(answer);
      cancel();
      cancel = endAfter(RUN_LIMITS * limitMs);
      if (answer.results.length > 0) take(answer.results);
      if (answer.last) end.resolve("done");
    };
    const onEnd = async () => {
      if (running.pid !== undefined && running.exitCode === null && running.signalCode === null) {
        await once(running, "exit");
      }
      // V8 aborts at its limit, with another signal.
      end.resolve(late ? "late" : running.signalCode === "SIGKILL" ? "killed" : "memory");
    };
    // The process stops each evaluation by itself, but for what V8 cannot interrupt: that ends with the process.
    const endAfter = (ms: number) =>
      clock.timer(ms, () => {
        late = running.kill("SIGKILL");
      });
    let cancel = endAfter(BOOT_MS + RUN_LIMITS * limitMs);
    running.on("message", onMessage).on("disconnect", onEnd).on("error", onEnd);
    try {
      // Without a channel it has ended, and `disconnect` may have come before.
      running.send(job, (error) => error && onEnd());
      return await end.promise;
    } finally {
      cancel();
      running.off("message", onMessage).off("disconnect", onEnd).off("error", onEnd);
    }
  }

  return {
    run,
    isClosed: () => closed,
    close: async () => {
      closed = true;
      // Its end is waited for, and must keep this process alive until then.
      child?.ref();
      if (child?.kill("SIGKILL")) await once(child, "exit");
    },
  };
}

/**
 * One process, which takes the calls in turns, and the people who ask: one that is slow for each of its events holds the
 * others up for a turn at a time, and twenty of one person hold another person up for one.
 */
export function createExpressions(clock: Clock, { limitMs = LIMIT_MS } = {}): Expressions {
  const { run, isClosed, close } = createProcess(clock, limitMs);
  const inTurn = createFairQueue();

  const evaluate: Expressions["evaluate"] = async ({ inputs, asker, ...rest }, take) => {
    const call = randomUUID();
    let done = 0;
    let inARow = 0;
    let kills = 0;
    const give = (results: readonly Evaluated[]) => {
      done += results.length;
      kills = 0;
      for (const result of results) inARow = isOverrun(result) ? inARow + 1 : 0;
      take(results);
    };
    // The process evaluates some together, and one of those ends it: they follow one by one.
    let alone = 0;
    do {
      const batch = alone > 0 ? inputs.slice(done, done + 1) : turnOf(inputs, done);
      // After one that took too long the next may never end either: it has no run to hold.
      const limits = { limitMs, turnMs: TURN_MS, together: inARow > 0 ? 1 : TOGETHER };
      const end = await inTurn(asker, () => run({ ...rest, ...limits, call, inputs: batch }, give));
      if (typeof end === "object") return end;
      const ended = end !== "done";
      // It was ended by `close`, not by what it evaluated.
      if (ended && isClosed()) throw new Error(CLOSED);
      if (ended && batch.length === 0) {
        return end === "killed" ? null : { unusable: "it takes too much memory or time to parse" };
      }
      alone = ended && batch.length > 1 ? ALONE : alone - 1;
      if (ended && batch.length === 1) {
        if (end === "late") {
          give([{ fault: "expression-timeout", detail: "it could not be stopped" }]);
          inARow = OVERRUNS_MAX; // each further one would hold the other calls up as long
        }
        // The machine may have ended it for what another process took.
        else if (end === "memory" || ++kills > 1) give([{ fault: `expression-${end}`, detail: null }]);
        else alone++;
      }
      if (inARow < OVERRUNS_MAX) continue;
      const detail =
        end === "late"
          ? "not tried: the event before it could not be stopped"
          : `not tried: the ${OVERRUNS_MAX} events before it were stopped`;
      give(inputs.slice(done).map(() => ({ fault: "expression-timeout", detail })));
    } while (done < inputs.length);
    return null;
  };

  return { evaluate, close };
}

type Input = ExpressionJob["inputs"][number];

/** The next inputs, as many as go to the process for one turn, at least one. */
function turnOf(inputs: readonly Input[], done: number): Input[] {
  let end = done;
  for (let chars = 0; end < inputs.length && chars < TURN_CHARS_MAX; end++) chars += inputs[end]!.payload.length;
  return inputs.slice(done, end);
}

const OVERRUNS: ReadonlySet<string> = new Set(["expression-timeout", "expression-memory", "expression-killed"]);

function isOverrun(result: Evaluated): boolean {
  return "fault" in result && OVERRUNS.has(result.fault);
}
