import type { Failure, Outcome } from "@/lib/retry/call";
import type { TimeoutCode } from "@/lib/retry/timeout/phases";

/** The reason an attempt's signal aborts with when its time is up. */
export class TimeoutError extends Error {
  readonly code: TimeoutCode;
  readonly timeoutMs: number;

  constructor(code: TimeoutCode, timeoutMs: number) {
    super(`no end after ${timeoutMs} ms (${code})`);
    this.name = "TimeoutError";
    this.code = code;
    this.timeoutMs = timeoutMs;
  }
}

/** An operation that did not succeed, for callers that want a throw: what was decided, around the last error as cause. */
export class OperationError extends Error {
  readonly code: string;
  readonly outcome: Exclude<Outcome<never>, { kind: "ok" }>;
  /** Names of what was called, for the log: target, event, ... */
  readonly context: Readonly<Record<string, string>>;

  constructor(outcome: Exclude<Outcome<never>, { kind: "ok" }>, context: Readonly<Record<string, string>> = {}) {
    const what = outcome.kind === "failed" ? `failed (${outcome.reason})` : outcome.kind;
    super(`${what} after ${outcome.attempts} attempts`, { cause: causeOf(outcome) });
    this.name = "OperationError";
    this.code = outcome.kind === "cancelled" ? "CANCELLED" : outcome.code;
    this.outcome = outcome;
    this.context = context;
  }
}

/** The value of a success; throws OperationError for everything else. */
export function unwrap<T>(outcome: Outcome<T>, context?: Readonly<Record<string, string>>): T {
  if (outcome.kind === "ok") return outcome.value;
  throw new OperationError(outcome, context);
}

function causeOf(outcome: Exclude<Outcome<never>, { kind: "ok" }>): Failure["error"] {
  return outcome.kind === "cancelled" ? outcome.reason : outcome.error;
}
