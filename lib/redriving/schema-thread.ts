import { parentPort } from "node:worker_threads";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/**
 * A thread that checks payloads against JSON Schemas (2020-12). A schema is a program: its patterns and references may
 * run without end, so it runs in a thread that can be ended, see `schema-check.ts`. Runs under Node alone (from
 * source, or bundled as dist/schema-thread.mjs) and imports nothing of this project.
 */

export type SchemaJob = {
  /** Text of the schema: the same text is compiled once. */
  schema: string;
  /** All payloads in one buffer, and the end of each. */
  bytes: Uint8Array<ArrayBuffer>;
  ends: number[];
  /** [0]: 1 while the first payload is checked, 2 while the second is ... 0 = not begun. */
  progress: Int32Array<SharedArrayBuffer>;
};

type Finding = { ok: boolean; detail: string };
export type SchemaResult = { parses: Finding; schema: Finding };

/** Results of the payloads that were checked since the message before. */
export type SchemaAnswer = { results: SchemaResult[] };

/** Results of one message. Results that are lost with a thread are checked again. */
const RESULTS_MAX = 16;
const COMPILED_MAX = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true });
/** By text, the oldest first. A text instead of a validator: why it does not compile. */
const compiled = new Map<string, ValidateFunction | string>();

function validatorOf(text: string): ValidateFunction | string {
  const known = compiled.get(text);
  if (known) return known;
  const made = compile(text);
  if (compiled.size >= COMPILED_MAX) compiled.delete(compiled.keys().next().value!);
  compiled.set(text, made);
  return made;
}

/** A compiler for each schema: two sources may use the same `$id`, and an edited schema keeps its own. */
function compile(text: string): ValidateFunction | string {
  try {
    const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false });
    addFormats.default(ajv);
    return ajv.compile(JSON.parse(text));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function check(schema: string, payload: Uint8Array): SchemaResult {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(payload));
  } catch {
    const detail = "the payload is not valid JSON in UTF-8";
    return { parses: { ok: false, detail }, schema: { ok: false, detail } };
  }
  return { parses: { ok: true, detail: "valid JSON" }, schema: matches(validatorOf(schema), value) };
}

function matches(validate: ValidateFunction | string, value: unknown): Finding {
  // A schema that does not compile must not let everything through.
  if (typeof validate === "string") return { ok: false, detail: `the source's JSON Schema is not usable: ${validate}` };
  const valid: unknown = validate(value);
  if (valid === true) return { ok: true, detail: "matches the source's JSON Schema" };
  // An asynchronous validator answers with a promise, which decides nothing.
  if (valid instanceof Promise) valid.catch(() => undefined);
  if (valid !== false) return { ok: false, detail: "the source's JSON Schema is not usable: it is asynchronous" };
  const [error] = validate.errors ?? [];
  return { ok: false, detail: `${error?.instancePath || "/"} ${error?.message}` };
}

parentPort?.on("message", ({ schema, bytes, ends, progress }: SchemaJob) => {
  let results: SchemaResult[] = [];
  let start = 0;
  ends.forEach((end, index) => {
    Atomics.store(progress, 0, index + 1);
    results.push(check(schema, bytes.subarray(start, end)));
    start = end;
    if (results.length < RESULTS_MAX && index < ends.length - 1) return;
    parentPort?.postMessage({ results } satisfies SchemaAnswer);
    results = [];
  });
});
