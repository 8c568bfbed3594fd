import { type Environment, environmentOf } from "@/lib/kit/retry/environment";
import { type RetryPolicy, type WholePolicy, wholePolicy } from "@/lib/kit/retry/policy";
import { attemptsAllowed, outgoingRetryCount } from "@/lib/retry/amplification";
import type { AttemptContext, AttemptRecord, NextStep, Outcome } from "@/lib/retry/call";
import { classifier, timeoutVerdict } from "@/lib/retry/classify/classifier";
import { HTTP_ERRORS } from "@/lib/retry/classify/http";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { CANCELLED, type Sent, type Verdict, verdict } from "@/lib/retry/classify/verdict";
import type { Clock } from "@/lib/retry/clock";
import { decide, hintOf } from "@/lib/retry/decide";
import { TimeoutError, unwrap } from "@/lib/retry/errors";
import { PolicyError } from "@/lib/retry/policy-error";

/** One attempt: sends, and rejects when it failed. Pass `signal` on, so that a timeout ends the request itself. */
export type Send<T> = (attempt: Attempt) => Promise<T>;

export type Attempt = AttemptContext;

/** One attempt that has ended, for a log line or a metric. `next` is null after success and after cancellation. */
export type AttemptEvent = Pick<
  AttemptRecord,
  "attempt" | "result" | "verdict" | "error" | "hedge" | "startedWallMs" | "elapsedMs" | "waitedMs" | "timeoutMs"
> & { next: NextStep | null };

export type CallOptions = {
  /**
   * The target acts once, however often this call reaches it: a read, a write with an idempotency key, a write that sets
   * a state. Without it no attempt is repeated that may have been processed (a timeout, a lost connection, most 5xx).
   * Default false.
   */
  idempotent?: boolean;
  /** `x-retry-count` of the request that caused this call: the repeats of its caller count against ours. Default 0. */
  incomingRetryCount?: number;
  /** Cancels: every wait ends at once, a send under way is aborted, and nothing more is sent. */
  signal?: AbortSignal;
  /** Called after each attempt, and awaited. When it rejects, the operation rejects with it. */
  onAttempt?(event: AttemptEvent): void | Promise<void>;
};

export type ExecuteOptions = CallOptions &
  Environment & {
    /** Judges what an attempt rejects with. Default: errors of fetch, of undici and Node, and of HTTP answers. */
    classify?(error: unknown): Verdict;
  };

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
  return "run" in on ? on.run(send, options) : repeat(wholePolicy(on), send, options);
}

const DEFAULT_CLASSIFY = /* @__PURE__ */ classifier(NODE_ERRORS, HTTP_ERRORS);

type End<T> =
  | { result: "ok"; value: T; verdict: null; error: null }
  | { result: "failed" | "cancelled"; verdict: Verdict; error: unknown };

/**
 * One attempt after the other, without state that calls share. `decide` decides as it does for the engine behind a
 * target; a test holds both to the same outcomes.
 */
async function repeat<T>(policy: WholePolicy, send: Send<T>, options: ExecuteOptions): Promise<Outcome<T>> {
  const { idempotent, incomingRetryCount = 0, signal, onAttempt, classify = DEFAULT_CLASSIFY } = options;
  const { clock, random } = environmentOf(options);
  const startedMs = clock.nowMs();
  const deadlineMs = startedMs + policy.deadlineMs;
  const call = { idempotencyKey: idempotent ? "" : null, retryable: true };
  const lastAttempt = attemptsAllowed(policy.maxAttempts, incomingRetryCount);
  let attempts = 0;
  let sent: Sent = "no";
  let code = "";
  let sameCode = 0;
  let previousDelayMs: number | null = null;
  const spent = () => ({ attempts, elapsedMs: clock.nowMs() - startedMs });
  const cancelled = (reason: unknown): Outcome<T> => ({ kind: "cancelled", reason, sent, ...spent() });

  while (!signal?.aborted) {
    const beganMs = clock.nowMs();
    const startedWallMs = clock.wallMs();
    attempts++;
    const retryCount = outgoingRetryCount(incomingRetryCount, attempts);
    const limits = { policy, startedMs, deadlineMs, clock, signal, classify };
    const end: End<T> = await sendOnce(
      (abort) => send({ attempt: attempts, retryCount, signal: abort, reached() {} }),
      limits,
    );
    const nowMs = clock.nowMs();
    const { error, result, verdict } = end;
    let next: NextStep | null = null;
    if (verdict?.sent === "maybe") sent = "maybe";
    if (result === "failed") {
      sameCode = verdict.code === code ? sameCode + 1 : 1;
      code = verdict.code;
      next = decide({
        policy,
        call,
        verdict,
        attempt: attempts,
        lastAttempt,
        curtailed: lastAttempt < policy.maxAttempts,
        sameCode,
        leftMs: deadlineMs - nowMs,
        wallMs: clock.wallMs(),
        previousDelayMs,
        blocked: false,
        backoffFactor: 1,
        hintSpread: policy.hintSpread,
        withdraw: () => 0,
        random,
      });
    }
    await onAttempt?.({
      attempt: attempts,
      result,
      verdict,
      error,
      hedge: false,
      startedWallMs,
      elapsedMs: nowMs - beganMs,
      waitedMs: 0,
      timeoutMs: policy.attemptTimeoutMs,
      next,
    });
    if (result === "ok") return { kind: "ok", value: end.value, ...spent() };
    if (next === null) return cancelled(error);
    if (next.kind === "retry") {
      previousDelayMs = next.delayMs;
      await sleepUntil(clock.nowMs() + next.delayMs, clock, signal);
      continue;
    }
    const wallMs = clock.wallMs();
    if (next.kind === "defer") {
      const untilMs = wallMs + next.waitMs;
      return { kind: "deferred", cause: "retry-after", code, error, sent, untilMs, ...spent() };
    }
    // The operation's own deadline has ended the attempt: its attempts are not used up.
    const reason = code === "TIMEOUT_DEADLINE" && next.reason === "exhausted" ? "deadline" : next.reason;
    const hint = hintOf({ verdict, policy, wallMs });
    return { kind: "failed", reason, code, error, sent, untilMs: hint && wallMs + hint.delayMs, ...spent() };
  }
  return cancelled(signal.reason);
}

type Limits = {
  policy: WholePolicy;
  /** Monotonic ms, of the operation. */
  startedMs: number;
  deadlineMs: number;
  clock: Clock;
  signal: AbortSignal | undefined;
  classify: (error: unknown) => Verdict;
};

/** One attempt up to its limit or its cancellation. It leaves no timer and no listener behind, and never rejects. */
function sendOnce<T>(send: (signal: AbortSignal) => Promise<T>, limits: Limits): Promise<End<T>> {
  const { clock, deadlineMs, policy, signal } = limits;
  const controller = new AbortController();
  const beganMs = clock.nowMs();
  const attemptEndsMs = beganMs + policy.attemptTimeoutMs;
  return new Promise((resolve) => {
    const settle = (end: End<T>) => {
      disarm();
      signal?.removeEventListener("abort", cancel);
      resolve(end);
    };
    const halt = (end: End<T>) => {
      settle(end);
      controller.abort(end.error);
    };
    const cancel = () => halt({ result: "cancelled", verdict: verdict("CANCELLED", CANCELLED), error: signal?.reason });
    const timeUp = () => {
      const [code, sinceMs] =
        attemptEndsMs <= deadlineMs
          ? (["TIMEOUT_ATTEMPT", beganMs] as const)
          : (["TIMEOUT_DEADLINE", limits.startedMs] as const);
      const error = new TimeoutError(code, clock.nowMs() - sinceMs);
      halt({ result: "failed", verdict: timeoutVerdict(code), error });
    };
    const failed = (error: unknown) => {
      const judged = limits.classify(error);
      settle({ result: judged.kind === "cancelled" ? "cancelled" : "failed", verdict: judged, error });
    };
    const disarm = clock.timer(Math.max(0, Math.min(attemptEndsMs, deadlineMs) - beganMs), timeUp);
    signal?.addEventListener("abort", cancel);
    try {
      send(controller.signal).then((value) => settle({ result: "ok", value, verdict: null, error: null }), failed);
    } catch (error) {
      failed(error);
    }
  });
}

/** Waits until `dueMs`, never shorter, or until `signal` aborts. */
function sleepUntil(dueMs: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    let disarm = () => {};
    const end = () => {
      disarm();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    // A timer of the platform may fire a fraction early, and a hint of the target is never cut short.
    const wake = () => {
      const leftMs = dueMs - clock.nowMs();
      if (leftMs > 0) disarm = clock.timer(leftMs, wake);
      else end();
    };
    signal?.addEventListener("abort", end);
    wake();
  });
}
