import { attemptsAllowed } from "@/lib/retry/amplification";
import type { Attempt, AttemptEnd } from "@/lib/retry/attempt";
import type { Budget } from "@/lib/retry/budget/budget";
import type {
  AttemptRecord,
  Call,
  Cancellation,
  Deferral,
  ExecuteOptions,
  Failure,
  FailureReason,
  Success,
} from "@/lib/retry/call";
import { classify } from "@/lib/retry/classify/classify";
import { awayOf, type Sent, type Verdict } from "@/lib/retry/classify/verdict";
import type { Clock, Random } from "@/lib/retry/clock";
import { Alarm } from "@/lib/retry/deadline/alarm";
import type { Decided } from "@/lib/retry/next-step";
import type { Policy } from "@/lib/retry/policy";
import type { TargetState } from "@/lib/retry/target";

type Undecided = { next: null; inputs: null };
const UNDECIDED: Undecided = { next: null, inputs: null };

/** A wait or a send that ends when the operation is cancelled. `cancelWait` does not end a send under way. */
type Halt = { cancel(reason: unknown): void; cancelWait(reason: unknown): void };

/** One operation's deadline, aborts and spending. A cancellation ends every attempt and wait; a halt spares attempts that have sent. */
export class Operation<T> {
  readonly call: Call<T>;
  readonly policy: Policy;
  readonly target: TargetState;
  readonly clock: Clock;
  readonly random: Random;
  readonly classify: (error: unknown) => Verdict;
  readonly hintSpread: number | undefined;
  /** Monotonic ms. */
  readonly startedMs: number;
  /** Monotonic ms; Infinity while a patient operation waits for its first turn. */
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly patient: boolean;
  /** The target's, as it was when the operation began: a retry is settled where it was paid. */
  readonly budget: Budget;
  readonly firstAttempt: number;
  readonly lastAttempt: number;
  /** The caller's own repeats left fewer attempts than the policy has. */
  readonly curtailed: boolean;

  attempts = 0;
  sent: Sent;
  /** Cancelled or halted: nothing more is sent. */
  cancelled: { reason: unknown } | null = null;
  #begun = false;
  #signal: AbortSignal | undefined;
  #halt: AbortSignal | undefined;
  #halts = new Set<Halt>();

  constructor(call: Call<T>, options: ExecuteOptions) {
    const { policy, target, clock, random, signal, halt, patient = false } = options;
    this.call = call;
    this.policy = policy;
    this.target = target;
    this.clock = clock;
    this.random = random;
    this.classify = options.classify ?? classify;
    this.hintSpread = options.hintSpread;
    this.startedMs = clock.nowMs();
    this.patient = patient;
    this.budget = target.budget;
    this.firstAttempt = call.firstAttempt ?? 1;
    const allowed = attemptsAllowed(policy.maxAttempts, call.incomingRetryCount ?? 0);
    const unreached = call.unreached ?? 0;
    this.lastAttempt = Math.max(this.firstAttempt, allowed + unreached);
    this.curtailed = this.lastAttempt - unreached < policy.maxAttempts;
    this.sent = call.ambiguous ? "maybe" : "no";
    this.#signal = signal;
    this.#halt = halt;
    signal?.addEventListener("abort", this);
    halt?.addEventListener("abort", this);
    if (!patient) this.begin(this.startedMs);
  }

  /** From here on it counts and its deadline runs: at once, or with the first attempt's turn when it is patient. */
  begin(nowMs: number): void {
    if (this.#begun) return;
    this.#begun = true;
    this.deadlineMs = nowMs + this.policy.deadlineMs;
    this.target.counters.operations++;
    this.budget.begin(nowMs);
  }

  /** No attempt was made yet, and no caller waits for the answer. */
  get waits(): boolean {
    return !this.#begun;
  }

  /** The abort listener: the operation itself, so that adding and removing it makes no closure. */
  handleEvent(): void {
    if (this.#signal?.aborted) {
      this.cancelled = { reason: this.#signal.reason };
      for (const halt of this.#halts) halt.cancel(this.cancelled.reason);
    } else {
      this.cancelled = { reason: this.#halt!.reason };
      for (const halt of this.#halts) halt.cancelWait(this.cancelled.reason);
    }
  }

  /** Halted and not cancelled: sends under way run to their own end. */
  get halted(): boolean {
    return this.cancelled !== null && !this.#signal?.aborted;
  }

  /** The operation's cancellation ends this wait. It may be cancelled after its end, which must do nothing. */
  join(halt: Halt): void {
    this.#halts.add(halt);
  }

  /** Runs an attempt inside this operation's abort tree. */
  async run(attempt: Attempt<T>, nowMs: number): Promise<AttemptEnd<T>> {
    this.#halts.add(attempt);
    try {
      const end = await attempt.run(nowMs);
      if (end.kind !== "unopened") {
        this.attempts++;
        if (end.kind !== "ok" && end.verdict.sent === "maybe") this.sent = "maybe";
      }
      return end;
    } finally {
      this.#halts.delete(attempt);
    }
  }

  /** Waits at least `ms`, or until cancelled. Leaves no timer behind. */
  sleep(ms: number): Promise<void> {
    if (this.cancelled !== null) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        alarm.clear();
        resolve();
      };
      // A platform timer may fire a fraction early; an alarm looks again, since a Retry-After is never cut short.
      const alarm = new Alarm(this.clock, ms, end);
      const nowMs = this.clock.nowMs();
      alarm.set(nowMs + ms, nowMs);
      this.join({ cancel: end, cancelWait: end });
    });
  }

  /** Writes an attempt's record, when the caller has an `onClose`. */
  async close(
    attempt: Attempt<T>,
    end: Exclude<AttemptEnd<T>, { kind: "unopened" }>,
    { next, inputs }: Decided | Undecided = UNDECIDED,
  ): Promise<void> {
    if (!this.call.onClose) return;
    const record: AttemptRecord = {
      attempt: attempt.attempt,
      result: end.kind,
      verdict: end.kind === "ok" ? null : end.verdict,
      error: end.kind === "ok" ? null : end.error,
      hedge: attempt.hedge,
      startedWallMs: attempt.startedWallMs,
      elapsedMs: attempt.endedMs - attempt.startedMs,
      waitedMs: attempt.waitedMs,
      timeoutMs: attempt.timeoutMs,
      next,
      inputs,
    };
    await this.call.onClose(record);
  }

  /** Takes the operation out of the abort tree. */
  dispose(): void {
    this.#signal?.removeEventListener("abort", this);
    this.#halt?.removeEventListener("abort", this);
    if (this.#begun) this.budget.end();
  }

  succeed(value: T): Success<T> {
    this.target.counters.succeeded++;
    return { kind: "ok", value, ...this.#spent() };
  }

  fail(
    reason: FailureReason,
    code: string,
    error: unknown,
    { waitMs = null, last = null }: { waitMs?: number | null; last?: Verdict | null } = {},
  ): Failure {
    const { counters } = this.target;
    this.begin(this.clock.nowMs());
    counters.failed++;
    if (reason === "exhausted") counters.retryExhausted++;
    if (reason === "budget") counters.budgetDenied++;
    if (reason === "breaker-open") counters.breakerDenied++;
    if (reason === "overload") counters.overloadDenied++;
    if (reason === "bulkhead-full") counters.bulkheadDenied++;
    const untilMs = waitMs === null ? null : this.clock.wallMs() + waitMs;
    return { kind: "failed", reason, code, error, sent: this.sent, untilMs, ...awayOf(last), ...this.#spent() };
  }

  defer(cause: Deferral["cause"], code: string, error: unknown, waitMs: number): Deferral {
    if (cause === "overload") this.target.counters.overloadDenied++;
    else this.target.counters.deferred++;
    if (cause === "retry-after") this.target.counters.retryAfterHonored++;
    const untilMs = this.clock.wallMs() + waitMs;
    return { kind: "deferred", cause, code, error, sent: this.sent, untilMs, ...this.#spent() };
  }

  hold(): Deferral {
    const untilMs = this.clock.wallMs() + (this.target.breaker?.waitMs(this.clock.nowMs()) ?? 0);
    return {
      kind: "deferred",
      cause: "held",
      code: "BREAKER_OPEN",
      error: null,
      sent: "no",
      untilMs,
      ...this.#spent(),
    };
  }

  cancel(reason: unknown): Cancellation {
    if (this.#begun) this.target.counters.cancelled++;
    return { kind: "cancelled", reason, sent: this.sent, ...this.#spent() };
  }

  #spent(): { attempts: number; elapsedMs: number } {
    return { attempts: this.attempts, elapsedMs: this.clock.nowMs() - this.startedMs };
  }
}
