/** `parkade/retry`: all that users may import. A name that leaves this file is a breaking change of the package. */

export {
  type Attempt,
  type AttemptEvent,
  type BareOptions,
  type BarePolicy,
  type CallOptions,
  retry,
  type Send,
} from "@/lib/kit/retry/bare";
export { classifyAny } from "@/lib/kit/retry/classify";
export type { Environment } from "@/lib/kit/retry/environment";
export { type ExecuteOptions, execute, type Runner, tryExecute } from "@/lib/kit/retry/execute";
export { withFallback } from "@/lib/kit/retry/fallback";
export { ensureOk, HttpError } from "@/lib/kit/retry/http-error";
export {
  createFixedWindow,
  createLeakyBucket,
  createSlidingWindow,
  createTokenBucket,
  type FixedWindow,
  type LeakyBucketOptions,
  type SlidingWindow,
  type TokenBucketOptions,
  type WindowAnswer,
} from "@/lib/kit/retry/limiters";
export { type RetryPolicy, type WholePolicy, wholePolicy } from "@/lib/kit/retry/policy";
export { GUARDS, PRESETS } from "@/lib/kit/retry/presets";
export { createMemoryStore, createResponseCache } from "@/lib/kit/retry/sharing";
export { createTarget, type Limiter, type Target, type TargetOptions, type TargetPolicy } from "@/lib/kit/retry/target";
export { outgoingRetryCount, RETRY_COUNT_HEADER, readRetryCount } from "@/lib/retry/amplification";
export { type Backoff, backoffMs, backoffMsMax } from "@/lib/retry/backoff/backoff";
export type { Jitter } from "@/lib/retry/backoff/jitter";
export {
  expectedAttempts,
  loadFactor,
  type ScheduleStep,
  schedule,
  successProbability,
  upperBoundMs,
} from "@/lib/retry/bounds";
export type { BreakerChange, BreakerPolicy, BreakerSnapshot, BreakerState } from "@/lib/retry/breaker/breaker";
export type { Trip } from "@/lib/retry/breaker/trip";
export type { BudgetPolicy, BudgetSnapshot } from "@/lib/retry/budget/budget";
export type { BulkheadPolicy, BulkheadSnapshot } from "@/lib/retry/bulkhead";
export type { Cached, CachePolicy, ResponseCache } from "@/lib/retry/cache/response-cache";
export type { Cancellation, Deferral, Failure, FailureReason, NextStep, Outcome, Success } from "@/lib/retry/call";
export type { Violation } from "@/lib/retry/check-fields";
export { AMQP_ERRORS } from "@/lib/retry/classify/amqp";
export { AWS_ERRORS } from "@/lib/retry/classify/aws";
export { classifier, type Family, type Judgement } from "@/lib/retry/classify/classifier";
export type { Facts } from "@/lib/retry/classify/facts";
export { HTTP_ERRORS } from "@/lib/retry/classify/http";
export { KAFKA_ERRORS } from "@/lib/retry/classify/kafka";
export { NATS_ERRORS } from "@/lib/retry/classify/nats";
export { NODE_ERRORS } from "@/lib/retry/classify/node";
export { POSTGRES_ERRORS } from "@/lib/retry/classify/postgres";
export { REDIS_ERRORS } from "@/lib/retry/classify/redis";
export {
  type CodeRule,
  MAYBE_SENT,
  NOT_SENT,
  PERMANENT,
  THROTTLED,
  type Verdict,
  verdict,
} from "@/lib/retry/classify/verdict";
export type { Clock, Random } from "@/lib/retry/clock";
export { Coalescer } from "@/lib/retry/coalesce";
export type { Counters, Rates } from "@/lib/retry/counters";
export { composedDeadlineMs, type Step } from "@/lib/retry/deadline/compose";
export { OperationError, TimeoutError, unwrap } from "@/lib/retry/errors";
export type { HealingPolicy, HealingStep } from "@/lib/retry/healing/healing";
export type { HedgePolicy } from "@/lib/retry/hedge/hedge-policy";
export {
  type Claim,
  type ClaimEntry,
  type ClaimTimes,
  decideClaim,
  windowProblems,
} from "@/lib/retry/idempotency/claim";
export { executeOnce, type OnceOptions, type OnceOutcome } from "@/lib/retry/idempotency/execute-once";
export { idempotencyKey, type KeySource } from "@/lib/retry/idempotency/key";
export type { IdempotencyStore } from "@/lib/retry/idempotency/store";
export { PolicyError } from "@/lib/retry/policy-error";
export type { OverloadPolicy, OverloadSnapshot } from "@/lib/retry/rate/overload";
export { QueueFullError, Throttle } from "@/lib/retry/rate/throttle";
export { parseDelayMs, parseHttpDate, parseRetryAfter } from "@/lib/retry/retry-after";
export type { TargetSnapshot } from "@/lib/retry/target";
export type { DynamicTimeout } from "@/lib/retry/timeout/dynamic";
export type { LatencySnapshot } from "@/lib/retry/timeout/latency";
export type { PhaseTimeouts } from "@/lib/retry/timeout/phases";
