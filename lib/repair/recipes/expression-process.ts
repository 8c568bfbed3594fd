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
  /** The call that the job is a part of: nothing that one call leaves behind is there for another one. */
  call: string;
  expression: string;
  /** A JSON document each, and the headers of its message by name, as JSON. */
  inputs: { payload: string; headers: string }[];
  /** For each payload. */
  limitMs: number;
  /** Payloads of the first run under one time limit, at most. */
  together: number;
  /** Longest result. */
  charsMax: number;
  /** After so much of the processor, and after an event that took too long, the job ends with the results that it has. */
  turnMs: number;
};

/** The result as JSON text, or why there is none. */
export type ExpressionResult =
  | { text: string }
  | { fault: "expression-failed" | "expression-timeout" | "no-result" | "too-large"; detail: string | null };

/** Results since the message before; `last`: the job ends with them. `unusable`: the expression cannot be parsed. */
export type ExpressionAnswer = { results: ExpressionResult[]; last: boolean } | { unusable: string };

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
  // A double holds any 15 digits.
  const isExact = (value: number, text: string) =>
    (text.length <= 15 && !/e/i.test(text)) ||
    String(value) === text ||
    (Number.isFinite(value) && normal(String(value)) === normal(text));
  const numberOf = (text: string) => (isExact(Number(text), text) ? Number(text) : new Digits(text));
  const parse = (text: string) => {
    if (!/[\d.]{16,}|\d[eE]/.test(text)) return JSON.parse(text);
    return JSON.parse(text, ((_key: string, value: Any, { source }: { source: string }) =>
      typeof value === "number" && !isExact(value, source) ? new Digits(source) : value) as Any);
  };
  const PLAIN = { configurable: true, enumerable: true, writable: true };
  const write = (value: Any): string | undefined => {
    if (value instanceof Digits) return value.digits;
    if (value === null || typeof value === "string" || typeof value === "boolean") return JSON.stringify(value);
    if (typeof value === "number") {
      if (!Number.isFinite(value)) throw new Error("a number of the result is not finite");
      return String(value);
    }
    if (typeof value !== "object" || value._jsonata_lambda || value._jsonata_function) return undefined;
    let text = "";
    if (Array.isArray(value)) {
      for (const each of value) text += `,${write(each) ?? "null"}`;
      return `[${text.slice(1)}]`;
    }
    for (const name of Object.keys(value)) {
      const member = write(value[name]);
      if (member !== undefined) text += `,${JSON.stringify(name)}:${member}`;
    }
    return `{${text.slice(1)}}`;
  };
  const copy = (value: Any): Any => {
    if (typeof value !== "object" || value === null || value instanceof Digits) return value;
    if (Array.isArray(value)) return value.map(copy);
    const copied: Any = {};
    for (const name of Object.keys(value)) {
      // An assignment to this name would not make a member.
      if (name === "__proto__") Object.defineProperty(copied, name, { ...PLAIN, value: copy(value[name]) });
      else copied[name] = copy(value[name]);
    }
    return copied;
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
  /** JSONata's own makes a string of any length, which nothing can interrupt. */
  const PAD_MAX = 1_000_000;
  const pad = (text: Any, width: number, filler = " ") => {
    if (text === undefined) return undefined;
    if (Math.abs(width) > PAD_MAX) throw new Error(`$pad makes at most ${PAD_MAX} characters`);
    const missing = Math.abs(width) - [...text].length;
    if (missing <= 0) return text;
    const letters = [...(filler === "" ? " " : filler)];
    const padding =
      letters.join("").repeat(Math.floor(missing / letters.length)) +
      letters.slice(0, missing % letters.length).join("");
    return width > 0 ? text + padding : padding + text;
  };
  let compiled: Any;
  let states: string[] = [];
  const fault = (code: string, detail: string | null) => `!${JSON.stringify({ fault: code, detail })}`;
  /** The language's own errors name parts of JSONata, and not what its author wrote. */
  const faultOf = (error: Any) =>
    error instanceof TypeError || error instanceof ReferenceError
      ? fault("expression-failed", "it uses a value as something that it is not")
      : fault("expression-failed", String(error?.message ?? error?.code ?? "").slice(0, 300) || null);
  const stateOf = (value: Any, charsMax: number) => {
    const text = write(value);
    if (text === undefined) return fault("no-result", null);
    return text.length > charsMax ? fault("too-large", `${text.length} characters`) : text;
  };
  return {
    compile(expression: string) {
      try {
        compiled = jsonata(expression);
        compiled.registerFunction("string", toText, "<x-b?:s>");
        compiled.registerFunction("number", toNumber, "<(nsbo)-:x>");
        compiled.registerFunction("clone", copy, "<(oa)-:o>");
        compiled.registerFunction("pad", pad, "<s-ns?:s>");
        return "";
      } catch (error) {
        const { message = "cannot be parsed", position } = error as Any;
        return String(message).slice(0, 300) + (position === undefined ? "" : `, at character ${position}`);
      }
    },
    /**
     * Evaluates one input after the other: payload and headers in turn, with U+0000 between, which no JSON holds.
     * `at` is the input that it works on. It stops early when the results reach `runCharsMax` characters.
     */
    async start(inputs: string, charsMax: number, runCharsMax: number) {
      states = [];
      const texts = inputs.split("\0");
      let chars = 0;
      for (let at = 0; at < texts.length && chars < runCharsMax; at += 2) {
        (globalThis as Any).at = at / 2;
        states.push(fault("expression-failed", "it never ends"));
        try {
          const value = await compiled.evaluate(parse(texts[at]!), { headers: JSON.parse(texts[at + 1]!) });
          states[at / 2] = stateOf(value, charsMax);
        } catch (error) {
          states[at / 2] = faultOf(error);
        }
        chars += states[at / 2]!.length;
      }
    },
    /** The results stand there when all microtasks have run. A result is its text, or `!` and why there is none. */
    read: () => states.join("\0"),
  };
}

const START = new vm.Script("run.start(inputs, charsMax, runCharsMax)");
const READ = new vm.Script("run.read()");
const COMPILE = new vm.Script("run.compile(expression)");
const PREPARE = new vm.Script(
  `globalThis.run = (${String(prepare)})(jsonata); delete globalThis.console; delete globalThis.jsonata;`,
);

/** The context of the last job, for the next one of the same call. */
let kept: { call: string; object: vm.Context } | null = null;

/**
 * An update (`|...|...|`) can change what its pattern finds, also a function of JSONata and what that leads to, and `$eval`
 * can hold one. Each event of such an expression has a context of its own: no result depends on the events before it.
 */
function leavesTraces({ expression }: ExpressionJob): boolean {
  return expression.includes("|") || expression.includes("eval");
}

/** Throws the reason when the expression cannot be parsed. */
function contextOf({ call, expression, limitMs }: ExpressionJob): vm.Context {
  if (kept?.call === call) return kept.object;
  // With a global object of its own: Node's calls of another object for each name make JSONata several times slower.
  const object = vm.createContext(vm.constants.DONT_CONTEXTIFY, {
    codeGeneration: { strings: false, wasm: false },
    // A promise's continuation is part of the run, and of its time.
    microtaskMode: "afterEvaluate",
  });
  library.runInContext(object);
  PREPARE.runInContext(object);
  object.expression = expression;
  const fault = COMPILE.runInContext(object, { timeout: limitMs * 10 }) as string;
  if (fault !== "") throw new Error(fault);
  kept = { call, object };
  return object;
}

type Input = ExpressionJob["inputs"][number];

/** Runs of one input: on a machine that is busy elsewhere the time passes without it. */
const TRIES_MAX = 5;
/** Characters of the inputs of one run, and of their results, for the memory. */
const RUN_CHARS_MAX = 256 * 1024;
/** Inputs of one run, at most: its timer costs as much as an evaluation. */
const RUN_MAX = 128;
/** A run that used a smaller share of the limit than the first is followed by a longer one, than the second by a shorter. */
const [RUN_SHORT, RUN_LONG] = [0.1, 0.3];

/** The first inputs, as many as one run takes. */
function firstRun(inputs: readonly Input[], most: number): readonly Input[] {
  let chars = 0;
  const end = inputs.findIndex(({ payload }, index) => {
    chars += payload.length;
    return index > 0 && (index === most || chars > RUN_CHARS_MAX);
  });
  return end < 0 ? inputs : inputs.slice(0, end);
}

/** Time of a run of several, in limits: on a machine that is busy elsewhere most of it passes without them. */
const RUN_LIMITS = 3;

/** The results of the first of the inputs, at least one. None has used the processor for longer than the limit. */
function evaluate(job: ExpressionJob, inputs: readonly Input[], tries = 1): ExpressionResult[] {
  if (leavesTraces(job)) kept = null;
  const object = contextOf(job);
  object.inputs = inputs.map(({ payload, headers }) => `${payload}\0${headers}`).join("\0");
  object.charsMax = job.charsMax;
  object.runCharsMax = RUN_CHARS_MAX;
  object.at = 0;
  const cpu = cpuMs();
  try {
    START.runInContext(object, { timeout: job.limitMs * (inputs.length > 1 ? RUN_LIMITS : 1) });
    const states = (READ.runInContext(object) as string).split("\0");
    // One of them may have used it all.
    if (inputs.length > 1 && cpuMs() - cpu > job.limitMs) return evaluate(job, inputs.slice(0, 1));
    return states.map(resultOf);
  } catch (error) {
    // What was stopped half-way must not go on in the next run.
    kept = null;
    const at = Number(object.at);
    if (inputs.length > 1) {
      // Those before the one that was stopped ended in time: they run again without it, and it has its whole time alone.
      const before = at > 0 ? evaluate(job, inputs.slice(0, at)) : [];
      return before.length < at ? before : [...before, ...evaluate(job, [inputs[at]!])];
    }
    if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      return [{ fault: "expression-failed", detail: null }];
    }
    const waited = cpuMs() - cpu < job.limitMs / 2;
    if (waited && tries < TRIES_MAX) return evaluate(job, inputs, tries + 1);
    return [{ fault: "expression-timeout", detail: `longer than ${job.limitMs} ms` }];
  }
}

function resultOf(state: string): ExpressionResult {
  return state.startsWith("!") ? (JSON.parse(state.slice(1)) as ExpressionResult) : { text: state };
}

function isTimeout(result: ExpressionResult): boolean {
  return "fault" in result && result.fault === "expression-timeout";
}

/** What this process has used of the processor, but for its other threads. Node 22 cannot say it of a thread. */
function cpuMs(): number {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1000;
}

/** Resolves when the answer has left: what comes after it may end the process. Ends the process when nobody takes it. */
function post(answer: ExpressionAnswer): Promise<void> {
  return new Promise((resolve) => process.send!(answer, (error) => (error ? process.exit() : resolve())));
}

process.on("message", async (job: ExpressionJob) => {
  try {
    contextOf(job);
  } catch (error) {
    return post({ unusable: error instanceof Error ? error.message : "it cannot be parsed" });
  }
  if (job.inputs.length === 0) return post({ results: [], last: true });
  // From now on each run has an answer in a bounded time, or the parent ends this process.
  await post({ results: [], last: false });
  const begun = cpuMs();
  const most = leavesTraces(job) ? 1 : RUN_MAX;
  let { together, inputs: left } = job;
  together = Math.min(together, most);
  let last = false;
  while (!last) {
    const cpu = cpuMs();
    const results = evaluate(job, firstRun(left, together));
    const share = (cpuMs() - cpu) / job.limitMs;
    if (share < RUN_SHORT) together = Math.min(together * 2, most);
    else if (share > RUN_LONG) together = Math.max(1, together >> 1);
    left = left.slice(results.length);
    last = left.length === 0 || results.some(isTimeout) || cpuMs() - begun > job.turnMs;
    await post({ results, last });
  }
});
// It comes in the middle of a job, too, when the parent was killed.
process.on("disconnect", () => process.exit());
// A terminal sends these to all processes of a group. This one ends with the channel, as soon as nobody needs it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
