import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "@/lib/platform/clock";
import type { ExpressionAnswer, ExpressionJob, ExpressionResult } from "./expression-thread";

/** One evaluation. Most take a tenth of a millisecond; a hundred thousand that take this long take six hours. */
const LIMIT_MS = 200;
/** After this many of one call in a row, the others count as too slow too: a batch must not hold its chunk for minutes. */
const OVERRUNS_MAX = 5;
/** An expression that builds large values ends its thread instead of the process. */
const MEMORY_MB = 96;
/** The thread evaluates so many together, at most. */
const TOGETHER_MAX = 16;
/** Loading the thread, and parsing the expression. */
const BOOT_MS = 15_000;

/** `memory`: the thread reached its limit and was replaced. */
type Evaluated = ExpressionResult | { fault: "expression-memory"; detail: null };

export type Expressions = {
  /** The results in the order of the inputs, or why the expression cannot be parsed. */
  evaluate(
    job: Pick<ExpressionJob, "expression" | "inputs" | "charsMax">,
  ): Promise<{ results: Evaluated[] } | { unusable: string }>;
  close(): Promise<void>;
};

function threadFile(): string {
  const built = process.env.NODE_ENV === "production";
  return join(process.cwd(), built ? "dist/expression-thread.mjs" : "lib/mending/expression-thread.ts");
}

/** One thread, one call at a time. It is started when it is needed, and again after it had to be ended. */
export function createExpressions(clock: Clock, { limitMs = LIMIT_MS } = {}): Expressions {
  let worker: Worker | null = null;
  let closed = false;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Worker {
    const started = new Worker(threadFile(), {
      execArgv: [],
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, maxYoungGenerationSizeMb: 16 },
    });
    started.unref();
    return started;
  }

  /** What came before the thread ended. `ended`: it did. */
  async function run(job: ExpressionJob): Promise<{ answers: ExpressionAnswer[]; ended: boolean }> {
    if (closed) throw new Error("the evaluation of expressions is closed");
    worker ??= start();
    const running = worker;
    const answers: ExpressionAnswer[] = [];
    const end = Promise.withResolvers<boolean>();
    let results = 0;
    const onMessage = (answer: ExpressionAnswer) => {
      answers.push(answer);
      if ("results" in answer) results += answer.results.length;
      if ("unusable" in answer || results === job.inputs.length) end.resolve(false);
    };
    const onEnd = () => {
      if (worker === running) worker = null;
      end.resolve(true);
    };
    // The thread stops each evaluation by itself: this ends one that does not even do that.
    const cancel = clock.timer(BOOT_MS + job.inputs.length * 10 * limitMs, () => void running.terminate());
    running.on("message", onMessage).on("error", onEnd).on("exit", onEnd);
    try {
      running.postMessage(job);
      return { answers, ended: await end.promise };
    } finally {
      cancel();
      running.off("message", onMessage).off("error", onEnd).off("exit", onEnd);
    }
  }

  async function evaluate({
    inputs,
    ...rest
  }: Parameters<Expressions["evaluate"]>[0]): ReturnType<Expressions["evaluate"]> {
    const results: Evaluated[] = [];
    let inARow = 0;
    // The thread evaluates some together, and one of those ends it: they follow one by one.
    let alone = 0;
    do {
      const batch = inputs.slice(results.length, results.length + (alone > 0 || inARow > 0 ? 1 : inputs.length));
      const { answers, ended } = await run({ ...rest, inputs: batch, limitMs });
      for (const answer of answers) {
        if ("unusable" in answer) return answer;
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
      await worker?.terminate();
    },
  };
}
