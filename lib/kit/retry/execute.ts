import { type BareOptions, type CallOptions, retry, type Send } from "@/lib/kit/retry/bare";
import { type RetryPolicy, wholePolicy } from "@/lib/kit/retry/policy";
import type { Outcome } from "@/lib/retry/call";
import { classifier } from "@/lib/retry/classify/classifier";
import { HTTP_ERRORS } from "@/lib/retry/classify/http";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { unwrap } from "@/lib/retry/errors";
import { PolicyError } from "@/lib/retry/policy-error";

/** `classify` is by default for errors of fetch, of undici and Node, and of HTTP answers. */
export type ExecuteOptions = Omit<BareOptions, "classify"> & Partial<Pick<BareOptions, "classify">>;

/** Whatever runs a call by itself: a target with shared guards. */
export type Runner = { run<T>(send: Send<T>, options?: CallOptions): Promise<Outcome<T>> };

/**
 * Calls `send` until it succeeds or the policy ends it, and resolves with its value. Rejects with OperationError, which
 * says how it ended around the last error as its cause, or with PolicyError before the first attempt.
 */
export async function execute<T>(on: RetryPolicy, send: Send<T>, options?: ExecuteOptions): Promise<T>;
export async function execute<T>(on: Runner, send: Send<T>, options?: CallOptions): Promise<T>;
export async function execute<T>(on: RetryPolicy | Runner, send: Send<T>, options?: ExecuteOptions): Promise<T> {
  return unwrap(await tryExecute(on as RetryPolicy, send, options));
}

/** The same, but resolves with how it ended: `ok`, `failed`, `deferred` or `cancelled`. */
export async function tryExecute<T>(on: RetryPolicy, send: Send<T>, options?: ExecuteOptions): Promise<Outcome<T>>;
export async function tryExecute<T>(on: Runner, send: Send<T>, options?: CallOptions): Promise<Outcome<T>>;
export async function tryExecute<T>(
  on: RetryPolicy | Runner,
  send: Send<T>,
  options: ExecuteOptions = {},
): Promise<Outcome<T>> {
  if (typeof on !== "object" || on === null)
    throw new PolicyError([{ field: "policy", value: on, bound: "an object" }]);
  if (typeof send !== "function") throw new PolicyError([{ field: "send", value: send, bound: "a function" }]);
  if ("run" in on) return on.run(send, options);
  return retry(wholePolicy(on), send, { ...options, classify: options.classify ?? DEFAULT_CLASSIFY });
}

const DEFAULT_CLASSIFY = /* @__PURE__ */ classifier(NODE_ERRORS, HTTP_ERRORS);
