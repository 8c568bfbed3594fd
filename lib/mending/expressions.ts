import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Clock } from "@/lib/platform/clock";
import type { ExpressionAnswer, ExpressionJob, ExpressionResult } from "./expression-process";

/** One evaluation. Most take a tenth of a millisecond; a hundred thousand that take this long take six hours. */
const LIMIT_MS = 200;
/** After this many of one call in a row, the others count as too slow too: a batch must not hold its chunk for minutes. */
const OVERRUNS_MAX = 5;
/** An expression that builds large values ends its own process instead of this one. */
const MEMORY_MB = 96;
/** The process evaluates so many together, at most. */
const TOGETHER_MAX = 16;
/** Loading the process, and parsing the expression. */
const BOOT_MS = 15_000;

/** `memory`: the process reached its limit and was replaced. */
type Evaluated = ExpressionResult | { fault: "expression-memory"; detail: null };

export type Expressions = {
  /** The results in the order of the inputs, or why the expression cannot be parsed. */
  evaluate(
    job: Pick<ExpressionJob, "expression" | "inputs" | "charsMax">,
  ): Promise<{ results: Evaluated[] } | { unusable: string }>;
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
    const limits = [`--max-old-space-size=${MEMORY_MB}`, "--max-semi-space-size=16"];
    const started = spawn(process.execPath, [...limits, processFile()], {
      env: { NODE_ENV: process.env.NODE_ENV },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const onEnd = () => {
      if (child === started) child = null;
    };
    // The channel ends after the last answer was read; a process that could not be started has an error alone.
    started.on("disconnect", onEnd).on("error", onEnd);
    // The evaluation alone must not keep this process alive.
    started.unref();
    started.channel?.unref();
    return started;
  }

  /** What came before the process ended. `ended`: it did. */
  async function run(job: ExpressionJob): Promise<{ answers: ExpressionAnswer[]; ended: boolean }> {
    if (closed) throw new Error("the evaluation of expressions is closed");
    child ??= start();
    const running = child;
    const answers: ExpressionAnswer[] = [];
    const end = Promise.withResolvers<boolean>();
    let results = 0;
    const onMessage = (answer: ExpressionAnswer) => {
      answers.push(answer);
      if ("results" in answer) results += answer.results.length;
      if (!("results" in answer) || results === job.inputs.length) end.resolve(false);
    };
    const onEnd = () => end.resolve(true);
    // The process stops each evaluation by itself: this ends one that does not even do that.
    const cancel = clock.timer(BOOT_MS + job.inputs.length * 10 * limitMs, () => void running.kill("SIGKILL"));
    running.on("message", onMessage).on("disconnect", onEnd).on("error", onEnd);
    try {
      // Without a channel it has ended, and `disconnect` may have come before.
      running.send(job, (error) => error && onEnd());
      return { answers, ended: await end.promise };
    } finally {
      cancel();
      running.off("message", onMessage).off("disconnect", onEnd).off("error", onEnd);
    }
  }

  async function evaluate({
    inputs,
    ...rest
  }: Parameters<Expressions["evaluate"]>[0]): ReturnType<Expressions["evaluate"]> {
    const results: Evaluated[] = [];
    let inARow = 0;
    // The process evaluates some together, and one of those ends it: they follow one by one.
    let alone = 0;
    do {
      const batch = inputs.slice(results.length, results.length + (alone > 0 || inARow > 0 ? 1 : inputs.length));
      const { answers, ended } = await run({ ...rest, inputs: batch, limitMs, overrunsMax: OVERRUNS_MAX });
      for (const answer of answers) {
        if ("unusable" in answer) return answer;
        if ("stopped" in answer) continue;
        for (const result of answer.results) {
          results.push(result);
          inARow = "fault" in result && result.fault === "expression-timeout" ? inARow + 1 : 0;
        }
      }
      if (ended && batch.length === 0) return { unusable: "it takes too much memory or time to parse" };
      if (ended && batch.length === 1) {
        results.push({ fault: "expression-memory", detail: null });
        inARow++;
      }
      alone = ended && batch.length > 1 ? TOGETHER_MAX : alone - 1;
      if (inARow < OVERRUNS_MAX) continue;
      const skipped = `not tried: ${OVERRUNS_MAX} events in a row before it took too long`;
      while (results.length < inputs.length) results.push({ fault: "expression-timeout", detail: skipped });
    } while (results.length < inputs.length);
    return { results };
  }

  return {
    evaluate: (job) => {
      const turn = last.then(() => evaluate(job));
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
