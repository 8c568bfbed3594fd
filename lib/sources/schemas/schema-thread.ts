import { parentPort } from "node:worker_threads";
import Ajv2020, { type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/**
 * A thread that checks payloads against JSON Schemas (2020-12). A schema is a program: its patterns and references may
 * run without end, so it runs in a thread that can be ended, see `schema-check.ts`. Runs under Node alone (from
 * source, or bundled as dist/schema-thread.mjs) and imports nothing of this project.
 */

export type SchemaJob = {
  /** Text of the schema: the same text is compiled once. */
  schema: string;
  /** Faults of one payload at most. 1: the check ends at the first, which costs least. */
  faultsMax: number;
  /** All payloads in one buffer, and the end of each. */
  bytes: Uint8Array<ArrayBuffer>;
  ends: number[];
  /** [0]: 1 while the first payload is checked, 2 while the second is ... 0 = not begun. [1]: 1 = the turn is over. */
  progress: Int32Array<SharedArrayBuffer>;
};

/** What one keyword of the schema found at one place of the payload. */
export type RawFault = {
  /** JSON pointer into the payload; "" = the whole payload. */
  pointer: string;
  keyword: string;
  /** What the keyword demands. Lists and texts are cut. */
  params: Record<string, unknown>;
  message: string;
};

/** `unusable`: why the schema cannot be used; it then lets nothing through. */
export type SchemaResult = { parses: boolean; faults: RawFault[]; moreFaults: boolean; unusable: string | null };

/** Results of the payloads that were checked since the message before. `last`: the turn is over. */
export type SchemaAnswer = { results: SchemaResult[]; last: boolean };

/** Results of one message. Results that are lost with a thread are checked again. */
const RESULTS_MAX = 16;
const COMPILED_MAX = 64;
const TEXT_MAX = 300;
const LIST_MAX = 20;

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** By text, the oldest first. A text instead of a validator: why it does not compile. */
const compiled = new Map<string, ValidateFunction | string>();

function validatorOf(text: string, allErrors: boolean): ValidateFunction | string {
  const key = `${allErrors} ${text}`;
  const known = compiled.get(key);
  if (known) return known;
  const made = compile(text, allErrors);
  if (compiled.size >= COMPILED_MAX) compiled.delete(compiled.keys().next().value!);
  compiled.set(key, made);
  return made;
}

/** A compiler for each schema: two sources may use the same `$id`, and an edited schema keeps its own. */
function compile(text: string, allErrors: boolean): ValidateFunction | string {
  try {
    // Own properties: without it `{}` has the required field "constructor", and a wrong "valueOf".
    const ajv = new Ajv2020({ strict: false, allErrors, logger: false, ownProperties: true });
    addFormats.default(ajv);
    return ajv.compile(JSON.parse(text));
  } catch (error) {
    return error instanceof RangeError ? "it refers to itself endlessly" : textOf(error);
  }
}

function check({ schema, faultsMax }: SchemaJob, payload: Uint8Array): SchemaResult {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(payload));
  } catch {
    return { parses: false, faults: [], moreFaults: false, unusable: null };
  }
  // A schema that does not compile must not let everything through.
  const validate = validatorOf(schema, faultsMax > 1);
  if (typeof validate === "string") return unusable(validate);
  let valid: unknown;
  try {
    valid = validate(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return unusable("it refers to itself endlessly, or the payload is nested too deeply for it");
  }
  // An asynchronous validator answers with a promise, which decides nothing.
  if (valid instanceof Promise) valid.catch(() => undefined);
  if (valid !== true && valid !== false) return unusable("it is asynchronous");
  const errors = validate.errors ?? [];
  return {
    parses: true,
    faults: valid ? [] : errors.slice(0, faultsMax).map(faultOf),
    moreFaults: !valid && errors.length > faultsMax,
    unusable: null,
  };
}

function unusable(why: string): SchemaResult {
  return { parses: true, faults: [], moreFaults: false, unusable: why };
}

function faultOf({ instancePath, keyword, params, message }: ErrorObject): RawFault {
  return {
    pointer: instancePath,
    keyword,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, cut(value)])),
    message: textOf(message),
  };
}

/** A value of the schema or a name in the payload: either may be as large as its author likes. */
function cut(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, TEXT_MAX);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, LIST_MAX).map((part) => textOf(part, 60));
  return textOf(value);
}

function textOf(value: unknown, charsMax = TEXT_MAX): string {
  const text = value instanceof Error ? value.message : typeof value === "string" ? value : JSON.stringify(value);
  return (text ?? "").slice(0, charsMax);
}

parentPort?.on("message", (job: SchemaJob) => {
  let results: SchemaResult[] = [];
  let start = 0;
  for (const [index, end] of job.ends.entries()) {
    Atomics.store(job.progress, 0, index + 1);
    results.push(check(job, job.bytes.subarray(start, end)));
    start = end;
    const last = index === job.ends.length - 1 || Atomics.load(job.progress, 1) === 1;
    if (results.length < RESULTS_MAX && !last) continue;
    parentPort?.postMessage({ results, last } satisfies SchemaAnswer);
    if (last) return;
    results = [];
  }
});
