import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import vm from "node:vm";

/**
 * A process that evaluates JSONata expressions. An expression is a program: it may run or allocate without end, and look
 * for a way out. So it runs in a context of its own, which holds JSONata and nothing of Node, compiles no text, gets
 * and gives text alone, and is stopped after its time; the process has a limit of memory, and is replaced when it ends,
 * see `expressions.ts`. A thread does not do: one allocation that is larger than the thread's limit ends all threads.
 * Runs under Node alone (from source, or bundled as dist/expression-process.mjs) and imports nothing of this project.
 */

export type ExpressionJob = {
  expression: string;
  /** A JSON document each, and the headers of its message by name, as JSON. */
  inputs: { payload: string; headers: string }[];
  /** For each payload. */
  limitMs: number;
  /** Longest result. */
  charsMax: number;
  /** After so many inputs in a row that take too long, the others are not tried. */
  overrunsMax: number;
};

/** The result as JSON text, or why there is none. */
export type ExpressionResult =
  | { text: string }
  | { fault: "expression-failed" | "expression-timeout" | "no-result" | "too-large"; detail: string | null };

/** Results since the message before. `unusable`: the expression cannot be parsed. `stopped`: after overruns in a row. */
export type ExpressionAnswer = { results: ExpressionResult[] } | { unusable: string } | { stopped: true };

const beside = join(import.meta.dirname, "jsonata.min.js");
const library = new vm.Script(
  readFileSync(existsSync(beside) ? beside : createRequire(import.meta.url).resolve("jsonata/jsonata.min.js"), "utf8"),
);

// biome-ignore lint/suspicious/noExplicitAny: the code below runs in another context, which has no types.
type Any = any;

/**
 * Runs inside of the context, from its text: it must name nothing that stands outside. A number whose digits a double
 * does not hold becomes an object that stands for them: it is written as it was read, and no sum rounds it.
 */
function prepare(jsonata: Any) {
  const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
  class Digits {
    digits: string;
    constructor(digits: string) {
      this.digits = digits;
      Object.freeze(this);
    }
  }
  const normal = (text: string) => {
    const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!;
    const digits = (whole! + fraction).replace(/^0+/, "");
    let end = digits.length;
    while (end > 0 && digits[end - 1] === "0") end--;
    return end === 0
      ? "0"
      : `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
  };
  const isExact = (value: number, text: string) =>
    String(value) === text || (Number.isFinite(value) && normal(String(value)) === normal(text));
  const numberOf = (text: string) => (isExact(Number(text), text) ? Number(text) : new Digits(text));
  const parse = (text: string) => {
    if (!/[\d.]{16,}|\d[eE]/.test(text)) return JSON.parse(text);
    return JSON.parse(text, ((_key: string, value: Any, { source }: { source: string }) =>
      typeof value === "number" && !isExact(value, source) ? new Digits(source) : value) as Any);
  };
  const write = (value: Any): string | undefined => {
    if (value instanceof Digits) return value.digits;
    if (value === null || typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
    if (typeof value === "number") {
      if (!Number.isFinite(value)) throw new Error("a number of the result is not finite");
      return String(value);
    }
    if (Array.isArray(value)) return `[${value.map((each) => write(each) ?? "null").join()}]`;
    if (typeof value !== "object" || value._jsonata_lambda || value._jsonata_function) return undefined;
    const members = Object.keys(value).flatMap((name) => {
      const text = write(value[name]);
      return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
    });
    return `{${members.join()}}`;
  };
  const copy = (value: Any): Any => {
    if (typeof value !== "object" || value === null || value instanceof Digits) return value;
    if (Array.isArray(value)) return value.map(copy);
    return Object.fromEntries(Object.keys(value).map((name) => [name, copy(value[name])]));
  };
  const toText = (value: Any) => {
    if (value === undefined || typeof value === "string") return value;
    if (value instanceof Digits) return value.digits;
    if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(15)));
    return write(value) ?? "";
  };
  const toNumber = (value: Any) => {
    if (value === undefined || typeof value === "number" || value instanceof Digits) return value;
    if (typeof value === "boolean") return value ? 1 : 0;
    if (NUMBER.test(value)) return numberOf(value);
    if (/^0(?:x[0-9a-f]+|o[0-7]+|b[01]+)$/i.test(value)) return Number(value);
    throw { code: "D3030", message: `${JSON.stringify(String(value).slice(0, 100))} is no number` };
  };
  let compiled: Any;
  type State = { text: string } | { fault: string; detail: string | null };
  let states: State[] = [];
  const faultOf = (error: Any): State => {
    const detail = String(error?.message ?? error?.code ?? "").slice(0, 300);
    return { fault: "expression-failed", detail: detail === "" ? null : detail };
  };
  const stateOf = (value: Any, charsMax: number): State => {
    try {
      const text = write(value);
      if (text === undefined) return { fault: "no-result", detail: null };
      return text.length > charsMax ? { fault: "too-large", detail: `${text.length} characters` } : { text };
    } catch (error) {
      return faultOf(error);
    }
  };
  return {
    compile(expression: string) {
      try {
        compiled = jsonata(expression);
        compiled.registerFunction("string", toText, "<x-b?:s>");
        compiled.registerFunction("number", toNumber, "<(nsbo)-:x>");
        compiled.registerFunction("clone", copy, "<(oa)-:o>");
        return "";
      } catch (error) {
        const { message = "cannot be parsed", position } = error as Any;
        return String(message).slice(0, 300) + (position === undefined ? "" : `, at character ${position}`);
      }
    },
    /** `inputs`: a list of payload and headers, as JSON. The results stand in `read` when all microtasks have run. */
    start(inputs: string, charsMax: number) {
      states = [];
      for (const [index, [payload, headers]] of JSON.parse(inputs).entries()) {
        states[index] = { fault: "expression-failed", detail: "it never ends" };
        const end = (state: State) => {
          states[index] = state;
        };
        try {
          const evaluated = compiled.evaluate(parse(payload), { headers: JSON.parse(headers) });
          evaluated.then(
            (value: Any) => end(stateOf(value, charsMax)),
            (error: Any) => end(faultOf(error)),
          );
        } catch (error) {
          end(faultOf(error));
        }
      }
    },
    read: () => JSON.stringify(states),
  };
}

const START = new vm.Script("run.start(inputs, charsMax)");
const READ = new vm.Script("run.read()");
const COMPILE = new vm.Script("run.compile(expression)");
const PREPARE = new vm.Script(
  `globalThis.run = (${String(prepare)})(jsonata); delete globalThis.console; delete globalThis.jsonata;`,
);

/** The context of the last job, for the next one with the same expression. */
let kept: { expression: string; object: vm.Context } | null = null;

/** Throws the reason when the expression cannot be parsed. */
function contextOf({ expression, limitMs }: ExpressionJob): vm.Context {
  if (kept?.expression === expression) return kept.object;
  const object = vm.createContext(Object.create(null), {
    codeGeneration: { strings: false, wasm: false },
    // A promise's continuation is part of the run, and of its time.
    microtaskMode: "afterEvaluate",
  });
  library.runInContext(object);
  PREPARE.runInContext(object);
  object.expression = expression;
  const fault = COMPILE.runInContext(object, { timeout: limitMs * 10 }) as string;
  if (fault !== "") throw new Error(fault);
  kept = { expression, object };
  return object;
}

type Input = ExpressionJob["inputs"][number];

/** Runs of one input: on a machine that is busy elsewhere the time passes without it. */
const TRIES_MAX = 5;
/** Inputs of one run under one time limit, whose timer costs as much as an evaluation; and characters, for the memory. */
const RUN_MAX = 16;
const RUN_CHARS_MAX = 64 * 1024;

/** The first inputs, as many as one run takes. */
function firstRun(inputs: readonly Input[]): readonly Input[] {
  let chars = 0;
  const end = inputs.findIndex(({ payload }, index) => {
    chars += payload.length;
    return index > 0 && (index === RUN_MAX || chars > RUN_CHARS_MAX);
  });
  return end < 0 ? inputs : inputs.slice(0, end);
}

/** null = the inputs did not end in the time of one. */
function run(job: ExpressionJob, inputs: readonly Input[], tries = 1): ExpressionResult[] | null {
  const object = contextOf(job);
  object.inputs = JSON.stringify(inputs.map(({ payload, headers }) => [payload, headers]));
  object.charsMax = job.charsMax;
  const cpu = cpuMs();
  try {
    START.runInContext(object, { timeout: job.limitMs });
    return JSON.parse(READ.runInContext(object) as string) as ExpressionResult[];
  } catch (error) {
    // What was stopped half-way must not go on in the next run.
    kept = null;
    if (inputs.length > 1) return null;
    if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      return [{ fault: "expression-failed", detail: null }];
    }
    const waited = cpuMs() - cpu < job.limitMs / 2;
    return waited && tries < TRIES_MAX ? run(job, inputs, tries + 1) : null;
  }
}

/**
 * Several that do not end in the time of one are evaluated one by one, until too many in a row take too long: then fewer
 * results come than inputs.
 */
function evaluate(job: ExpressionJob, inputs: readonly Input[], overruns: { inARow: number }): ExpressionResult[] {
  const results = run(job, inputs);
  if (results !== null) {
    overruns.inARow = 0;
    return results;
  }
  if (inputs.length === 1) {
    overruns.inARow++;
    return [{ fault: "expression-timeout", detail: `longer than ${job.limitMs} ms` }];
  }
  const alone: ExpressionResult[] = [];
  for (const input of inputs) {
    alone.push(...evaluate(job, [input], overruns));
    if (overruns.inARow >= job.overrunsMax) break;
  }
  return alone;
}

/** What this process has used of the processor, but for its other threads. Node 22 cannot say it of a thread. */
function cpuMs(): number {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1000;
}

/** Resolves when the answer has left: what comes after it may end the process. */
function post(answer: ExpressionAnswer): Promise<void> {
  return new Promise((resolve) => void process.send!(answer, () => resolve()));
}

async function answerJob(job: ExpressionJob): Promise<void> {
  try {
    contextOf(job);
  } catch (error) {
    return post({ unusable: error instanceof Error ? error.message : "it cannot be parsed" });
  }
  if (job.inputs.length === 0) return post({ results: [] });
  const overruns = { inARow: 0 };
  for (let left = job.inputs; left.length > 0; ) {
    const together = firstRun(left);
    await post({ results: evaluate(job, together, overruns) });
    if (overruns.inARow >= job.overrunsMax) return post({ stopped: true });
    left = left.slice(together.length);
  }
}

process.on("message", (job: ExpressionJob) => void answerJob(job));
