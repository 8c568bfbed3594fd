import type { Sent, Verdict } from "@/lib/retry/classify/verdict";
import type { Clock, Random } from "@/lib/retry/clock";
import type { Situation } from "@/lib/retry/decide";
import type { Policy } from "@/lib/retry/policy";
import type { TargetState } from "@/lib/retry/target";
import type { Phase } from "@/lib/retry/timeout/phases";

/** The arguments of one attempt. */
export type AttemptContext = {
  /** 1-based; goes on counting where `firstAttempt` says. */
  readonly attempt: number;
  /** Aborts on the attempt's timeout, on the deadline, and when the operation is cancelled. Made on first reading. */
  readonly signal: AbortSignal;
  /** The value of x-retry-count to send: the incoming count plus the repeats made here. */
  readonly retryCount: number;
  /** Reports the phase that the transport has reached, for timeouts of phases. Optional to call. */
  reached(phase: Exclude<Phase, "connecting">): void;
};

export type Call<T> = {
  /** The same for every repeat; null = a repeat after a possible effect is forbidden. */
  idempotencyKey: string | null;
  /** The target is on the whitelist of those that may be called again. */
  retryable: boolean;
  /** Sends. Each error that it throws or rejects with is classified. */
  attempt(context: AttemptContext): Promise<T>;
  /** Waits for a token of the caller's own rate; once per attempt, before it takes a place in the bulkhead. */
  takeOwnToken?(signal: AbortSignal): Promise<void>;
  /** Waits for a token of the target's rate; once per attempt, in its place in the bulkhead. A wait is not an attempt. */
  takeToken?(signal: AbortSignal): Promise<void>;
  /** Intent before effect: awaited before the send. A rejection ends the operation with it, unsent. */
  onOpen?(attempt: number): Promise<void>;
  /** Monotonic ms until which an attempt that is recorded may begin: later it is cancelled, unsent. Default: for ever. */
  mayBeginUntilMs?(attempt: number): number;
  /** Awaited after the decision on what follows and before any backoff. A rejection ends the operation with it. */
  onClose?(record: AttemptRecord): void | Promise<void>;
  /** x-retry-count of the request that caused this call: its repeats count against ours. */
  incomingRetryCount?: number;
  /** Number of the first attempt made here, when earlier runs made some. Default 1. */
  firstAttempt?: number;
  /** Of the earlier attempts those that found no target (`Verdict.away`): they use up none of the policy's. Default 0. */
  unreached?: number;
  /** An earlier attempt was found open: it may have been delivered, so without a key nothing is sent. */
  ambiguous?: boolean;
};

export type ExecuteOptions = {
  policy: Policy;
  target: TargetState;
  clock: Clock;
  random: Random;
  /** Judges what an attempt rejects with. Default: `classify`, which knows every kind of target. */
  classify?: (error: unknown) => Verdict;
  /** Spreads each delay that the target asks for over [hint, hint * (1 + hintSpread)). Default 0: exactly the hint. */
  hintSpread?: number;
  /** Cancels the operation: every wait ends at once, a send under way is aborted, and nothing more is sent. */
  signal?: AbortSignal;
  /** Ends every wait at once and lets no further send begin. A send under way runs to its own end. */
  halt?: AbortSignal;
  /**
   * No caller waits for the answer: the wait for the first attempt's turn spends no deadline and counts nowhere, and a breaker
   * that lets nothing pass before the first attempt answers `held` instead of a failure. Default false.
   */
  patient?: boolean;
};

/** The step after an attempt. `delayMs` is the wait before the next attempt. */
export type NextStep =
  | { kind: "retry"; delayMs: number; withdrawn: number; honored: boolean }
  | { kind: "give-up"; reason: FailureReason }
  | { kind: "defer"; waitMs: number };

export type FailureReason =
  | "permanent"
  | "exhausted"
  | "deadline"
  | "budget"
  | "breaker-open"
  | "bulkhead-full"
  | "ambiguous"
  | "not-retryable"
  | "not-listed"
  | "overload"
  | "amplified";

/** All facts of one attempt, for the attempt's row and for one log line. Never contains a payload. */
export type AttemptRecord = {
  attempt: number;
  result: "ok" | "failed" | "cancelled";
  /** null when it succeeded. */
  verdict: Verdict | null;
  /** As thrown; null when it succeeded. */
  error: unknown;
  hedge: boolean;
  /** Epoch ms at which the send began. */
  startedWallMs: number;
  elapsedMs: number;
  /** Milliseconds waited for permit and token before it. */
  waitedMs: number;
  /** Milliseconds the send was allowed to take. */
  timeoutMs: number;
  /** null after success, or when the operation was ended otherwise. */
  next: NextStep | null;
  /** The inputs of the decision, so that a replay can decide again; null when nothing was decided. */
  inputs: DecisionInputs | null;
};

/** The inputs of a decision apart from policy, call and verdict, as plain values. */
export type DecisionInputs = Omit<Situation, "policy" | "call" | "verdict" | "withdraw" | "random"> & {
  /** The budget's answer: the amount taken, null = refused or not requested. */
  withdrawn: number | null;
  /** The random number that was drawn, null = none was. */
  draw: number | null;
};

type Spent = {
  attempts: number;
  elapsedMs: number;
};

/** How an operation ended. `sent` says whether any of its sends may have had an effect. Times `untilMs` are epoch ms. */
export type Outcome<T> = Success<T> | Failure | Deferral | Cancellation;

export type Success<T> = Spent & { kind: "ok"; value: T };

export type Failure = Spent & {
  kind: "failed";
  reason: FailureReason;
  /** Code of the last attempt, or of the guard that refused the first. */
  code: string;
  error: unknown;
  sent: Sent;
  /** The last attempt found no target, or our own side could not send. Absent otherwise. */
  away?: true;
  /** When trying again could make sense: the breaker's next probe, or Retry-After. null = unknown. */
  untilMs: number | null;
};

/**
 * Not failed: the target asked for a longer wait than the deadline allows, no permit came in time, or a patient
 * operation was held by the breaker, or by the limit on sends to an overloaded target, before its first attempt (nothing was
 * tried, nothing was counted).
 */
export type Deferral = Spent & {
  kind: "deferred";
  cause: "retry-after" | "no-permit" | "held" | "overload";
  code: string;
  error: unknown;
  sent: Sent;
  untilMs: number;
};

export type Cancellation = Spent & { kind: "cancelled"; reason: unknown; sent: Sent };
