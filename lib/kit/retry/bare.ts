import { type Environment, environmentOf } from "@/lib/kit/retry/environment";
import type { RetryPolicy, WholePolicy } from "@/lib/kit/retry/policy";
import { attemptsAllowed, outgoingRetryCount } from "@/lib/retry/amplification";
import type { AttemptContext, AttemptRecord, NextStep, Outcome } from "@/lib/retry/call";
import { timeoutVerdict } from "@/lib/retry/classify/classifier";
import { awayOf, CANCELLED, type Sent, type Verdict, verdict } from "@/lib/retry/classify/verdict";
import type { Clock } from "@/lib/retry/clock";
import { decide, hintOf } from "@/lib/retry/decide";
import { TimeoutError } from "@/lib/retry/errors";

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

export type BareOptions = CallOptions &
  Environment & {
    /** Judges what an attempt rejects with: by a `classifier` of the tables that are wanted, or by code of the caller. */
    classify(error: unknown): Verdict;
  };

/** The other fields have the defaults of any policy; the default of the deadline is computed, and its rule comes at a size. */
export type BarePolicy = RetryPolicy & { deadlineMs: number };

type End<T> =
  | { result: "ok"; value: T; verdict: null; error: null }
  | { result: "failed" | "cancelled"; verdict: Verdict; error: unknown };

/** The default deadline is computed from the other fields. */
export const DEFAULTS: Omit<WholePolicy, "deadlineMs"> = {
  maxAttempts: 3,
  attemptTimeoutMs: 3_000,
  marginMs: 0,
  backoff: { kind: "exponential", baseMs: 100, factor: 2, capMs: 1_000, jitter: { kind: "full" } },
  throttledBackoff: null,
  retryAfterMsMax: 86_400_000,
  hintSpread: 0,
  retryOn: null,
};

/**
 * Calls `send` until it succeeds or the policy ends it, and resolves with how it ended. The same as `tryExecute`, for the
 * smallest bundle: the policy is taken as it is, unchecked, and `classify` judges, for no table of errors comes along.
 *
 * One attempt after the other, without state that calls share. `decide` decides as it does for the engine behind a
 * target; a test holds both to the same outcomes.
 */
export async function retry<T>(given: BarePolicy, send: Send<T>, options: BareOptions): Promise<Outcome<T>> {
  const policy = { ...DEFAULTS, ...given };
  const { idempotent, incomingRetryCount = 0, signal, onAttempt, classify } = options;
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
    const untilMs = hint && wallMs + hint.delayMs;
    return { kind: "failed", reason, code, error, sent, untilMs, ...awayOf(verdict), ...spent() };
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
