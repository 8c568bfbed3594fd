import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Clock } from "@/lib/platform/clock";
import type { ExpressionAnswer, ExpressionJob, ExpressionResult } from "./expression-process";

/** One evaluation. Most take a tenth of a millisecond; a hundred thousand that take this long take six hours. */
const LIMIT_MS = 200;
/** After this many of one call in a row, the others count as too slow too: a batch must not hold its chunk for minutes. */
const OVERRUNS_MAX = 5;
/** An expression that builds large values ends its process instead of this one. */
const MEMORY_MB = 96;
/** The process evaluates so many together, at most: its timer costs as much as an evaluation. */
const TOGETHER_MAX = 128;
const CLOSED = "the evaluation of expressions is closed";
/** Starting the process, and parsing the expression. */
const BOOT_MS = 15_000;

/** `expression-memory`: the process reached its limit and was replaced. */
export type Evaluated = ExpressionResult | { fault: "expression-memory"; detail: null };

/** `ended`: the process ended before its job. */
type JobEnd = "done" | "ended" | { unusable: string };

export type Expressions = {
  /**
   * Evaluates each input. `take` gets the results in the order of the inputs, some at a time, while the process goes on.
   * Resolves when it has all of them: null, or why the expression cannot be parsed.
   */
  evaluate(
    job: Pick<ExpressionJob, "expression" | "inputs" | "charsMax">,
    take: (results: readonly Evaluated[]) => void,
  ): Promise<{ unusable: string } | null>;
  close(): Promise<void>;
};

function processFile(): string {
  const built = process.env.NODE_ENV === "production";
  return join(process.cwd(), built ? "dist/expression-process.mjs" : "lib/mending/expression-process.ts");
}

/** One process, one call at a time. It is started when it is needed, and again after it had to be ended. */
export function createExpressions(clock: Clock, { limitMs = LIMIT_MS } = {}): Expressions {
  let child: ChildProcess | null = null;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

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
    let taken = 0;
    const onMessage = (answer: ExpressionAnswer) => {
      if ("unusable" in answer) return end.resolve(answer);
      taken += answer.results.length;
      take(answer.results);
      if (taken === job.inputs.length) end.resolve("done");
    };
    const onEnd = () => end.resolve("ended");
    // The process stops each evaluation by itself: this ends one that does not even do that.
    const cancel = clock.timer(BOOT_MS + job.inputs.length * 10 * limitMs, () => void running.kill("SIGKILL"));
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

  const evaluate: Expressions["evaluate"] = async ({ inputs, ...rest }, take) => {
    const limits = { limitMs, overrunsMax: OVERRUNS_MAX, togetherMax: TOGETHER_MAX };
    let done = 0;
    let inARow = 0;
    const give = (results: readonly Evaluated[]) => {
      done += results.length;
      for (const result of results) inARow = isOverrun(result) ? inARow + 1 : 0;
      take(results);
    };
    // The process evaluates some together, and one of those ends it: they follow one by one.
    let alone = 0;
    do {
      const batch = inputs.slice(done, alone > 0 ? done + 1 : inputs.length);
      const end = await run({ ...rest, ...limits, inputs: batch }, give);
      if (typeof end === "object") return end;
      const ended = end === "ended";
      // It was ended by `close`, not by what it evaluated.
      if (ended && closed) throw new Error(CLOSED);
      if (ended && batch.length === 0) return { unusable: "it takes too much memory or time to parse" };
      if (ended && batch.length === 1) give([{ fault: "expression-memory", detail: null }]);
      alone = ended && batch.length > 1 ? TOGETHER_MAX : alone - 1;
      if (inARow < OVERRUNS_MAX) continue;
      const detail = `not tried: ${OVERRUNS_MAX} events in a row before it took too long`;
      give(inputs.slice(done).map(() => ({ fault: "expression-timeout", detail })));
    } while (done < inputs.length);
    return null;
  };

  return {
    evaluate: (job, take) => {
      const turn = last.then(() => evaluate(job, take));
      last = turn.catch(() => undefined);
      return turn;
    },
    close: async () => {
      closed = true;
      // Its end is waited for, and must keep this process alive until then.
      child?.ref();
      if (child?.kill("SIGKILL")) await once(child, "exit");
    },
  };
}

function isOverrun(result: Evaluated): boolean {
  return "fault" in result && (result.fault === "expression-timeout" || result.fault === "expression-memory");
}
