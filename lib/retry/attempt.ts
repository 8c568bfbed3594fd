import { outgoingRetryCount } from "@/lib/retry/amplification";
import { DENIED } from "@/lib/retry/breaker/breaker";
import type { Bulkhead } from "@/lib/retry/bulkhead";
import type { AttemptContext } from "@/lib/retry/call";
import { timeoutVerdict } from "@/lib/retry/classify/classifier";
import { CANCELLED, type Verdict, verdict } from "@/lib/retry/classify/verdict";
import { Alarm } from "@/lib/retry/deadline/alarm";
import { TimeoutError } from "@/lib/retry/errors";
import type { Operation } from "@/lib/retry/operation";
import { dynamicTimeoutMs } from "@/lib/retry/timeout/dynamic";
import { type Phase, phaseLimit, type TimeoutCode } from "@/lib/retry/timeout/phases";

export type AttemptEnd<T> =
  | { kind: "ok"; value: T }
  | { kind: "failed"; verdict: Verdict; error: unknown }
  /** Cancelled after it had opened, by us or by the client's own abort. */
  | { kind: "cancelled"; verdict: Verdict; error: unknown }
  /** Never opened: a guard refused it, the deadline came while it waited, or it was cancelled while it waited. */
  | { kind: "unopened"; why: Refusal };

type Refusal = "breaker-open" | "overload" | "bulkhead-full" | "deadline" | "cancelled";

/**
 * One attempt through all guards: breaker permit, the caller's token, bulkhead, the target's token, open, timeout, send,
 * record. It owns one abort signal and one timer, both gone when it ends. It never rejects except when a token or
 * `onOpen` does.
 */
export class Attempt<T> implements AttemptContext {
  readonly attempt: number;
  readonly hedge: boolean;
  /** Monotonic ms at which the send began; NaN until then. */
  startedMs = Number.NaN;
  startedWallMs = Number.NaN;
  endedMs = Number.NaN;
  waitedMs = 0;
  timeoutMs = 0;

  #operation: Operation<T>;
  /** The amount that the budget was paid for it. */
  #withdrawn: number;
  #alarm: Alarm;
  #controller: AbortController | null = null;
  /** Why it was stopped: a timeout's code, or the cancellation. */
  #stop: { code: TimeoutCode | "CANCELLED" | "BREAKER_OPEN"; reason: unknown } | null = null;
  /** Ends the present wait, if there is one. */
  #wake: (() => void) | null = null;
  #timedOut = false;
  #phase: Phase = "connecting";
  #authorizedMs = 0;
  #permit = 0;
  /** Counted as a send by the target's limit on overload, and not reported yet. */
  #admitted = false;
  #inBulkhead = false;

  constructor(operation: Operation<T>, attempt: number, paid: { withdrawn: number; hedge: boolean }) {
    this.#operation = operation;
    this.attempt = attempt;
    this.hedge = paid.hedge;
    this.#withdrawn = paid.withdrawn;
    this.#alarm = new Alarm(operation.clock, operation.policy.attemptTimeoutMs, () => this.#timeUp());
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#stop !== null) this.#controller.abort(this.#stop.reason);
    }
    return this.#controller.signal;
  }

  get retryCount(): number {
    return outgoingRetryCount(this.#operation.call.incomingRetryCount ?? 0, this.attempt);
  }

  reached(phase: Exclude<Phase, "connecting">): void {
    if (this.#phase === "authorizing") this.#authorizedMs = this.#operation.clock.nowMs() - this.startedMs;
    this.#phase = phase;
    if (this.#wake !== null) this.#alarm.set(this.#limit().dueMs, this.#operation.clock.nowMs());
  }

  /** Ends it at once: the waits wake up and the signal aborts. */
  cancel(reason: unknown): void {
    this.#halt("CANCELLED", reason);
  }

  /** Ends the wait before the send. Once the send has begun it changes nothing. */
  cancelWait(reason: unknown): void {
    if (Number.isNaN(this.startedMs)) this.#halt("CANCELLED", reason);
  }

  /** @param nowMs monotonic time, read by the caller */
  async run(nowMs: number): Promise<AttemptEnd<T>> {
    const { breaker, bulkhead } = this.#operation.target;
    let reported = false;
    try {
      const refusal = this.#askBreaker(nowMs) ?? this.#askOverload(nowMs) ?? (await this.#waitForTurn(nowMs));
      if (refusal !== null) return { kind: "unopened", why: refusal };
      this.#operation.begin(this.#operation.clock.nowMs());
      await this.#open();
      const end = await this.#send();
      this.#report(end);
      reported = true;
      return end;
    } finally {
      this.#alarm.clear();
      if (!reported) {
        this.#operation.budget.settle(false, this.#withdrawn, nowMs);
        breaker?.release(this.#permit);
        if (this.#admitted) this.#operation.target.overload?.withdraw(this.#operation.clock.nowMs());
      }
      if (this.#inBulkhead) bulkhead?.release();
    }
  }

  /**
   * While the caller records the attempt, another call may have its place: the target is as busy as it may be. At most as many attempts
   * wait for their place as short calls have just ended, so that the wait is short, too.
   */
  async #open(): Promise<void> {
    const { call, clock, target } = this.#operation;
    if (!call.onOpen) return;
    const { bulkhead, ended } = target;
    const lent = this.#inBulkhead && bulkhead!.lend(ended.sum(0, clock.nowMs()));
    if (!lent) return call.onOpen(this.attempt);
    this.#inBulkhead = false;
    try {
      await call.onOpen(this.attempt);
    } catch (error) {
      bulkhead!.endLoan(null);
      throw error;
    }
    await this.#takePlaceBack(bulkhead!);
  }

  /** Halted meanwhile, held by the breaker, or too late, it has no place and sends nothing. */
  async #takePlaceBack(bulkhead: Bulkhead): Promise<void> {
    const { breaker } = this.#operation.target;
    const nowMs = this.#operation.clock.nowMs();
    // It has opened while the attempt was recorded.
    if (breaker !== null && !breaker.holds(this.#permit, nowMs) && breaker.waitMs(nowMs) !== 0) this.#holdForBreaker();
    if (this.#stop !== null) {
      bulkhead.endLoan(null);
      return;
    }
    const { waiting } = this.#operation.target;
    const held = () => this.#holdForBreaker();
    waiting.add(held);
    await this.#waitForPlaceBack(bulkhead);
    waiting.delete(held);
  }

  #waitForPlaceBack(bulkhead: Bulkhead): Promise<void> {
    return new Promise((resolve) => {
      const granted = () => {
        this.#inBulkhead = true;
        this.#wake = null;
        resolve();
      };
      const place = bulkhead.endLoan(granted);
      if (place === null) return;
      const nowMs = this.#operation.clock.nowMs();
      this.#alarm.set(Math.min(this.#operation.deadlineMs, nowMs + PLACE_BACK_MS_MAX), nowMs);
      this.#wake = () => {
        place.leave();
        resolve();
      };
    });
  }

  #askBreaker(nowMs: number): "breaker-open" | null {
    const { breaker } = this.#operation.target;
    if (breaker !== null) this.#permit = breaker.acquire(nowMs);
    return this.#permit === DENIED ? "breaker-open" : null;
  }

  /** A probe of a half-open breaker always goes: a target that has recovered must be found so. */
  #askOverload(nowMs: number): "overload" | null {
    const { overload, breaker } = this.#operation.target;
    if (overload === null || breaker?.probing) return null;
    if (!overload.admits(this.#operation.random, nowMs)) return "overload";
    this.#admitted = true;
    return null;
  }

  /** The waits: the caller's token, a place in the bulkhead, the target's token. null = the send may begin. */
  async #waitForTurn(nowMs: number): Promise<Refusal | null> {
    const { call, clock, deadlineMs, target } = this.#operation;
    const { breaker, bulkhead } = target;
    const free = !call.takeOwnToken && (bulkhead?.tryEnter() ?? true);
    this.#inBulkhead = free && bulkhead !== null;
    if (free && !call.takeToken) return null;
    if (!free && !call.takeOwnToken && !bulkhead!.hasRoom()) return "bulkhead-full";
    // A patient operation has no deadline yet.
    if (deadlineMs < Number.POSITIVE_INFINITY) this.#alarm.set(deadlineMs, nowMs);
    const held = () => this.#holdForBreaker();
    if (this.#operation.waits) target.waiting.add(held);
    try {
      if (call.takeOwnToken) await this.#untilHalted(call.takeOwnToken(this.signal));
      if (this.#stop === null && bulkhead !== null && !this.#inBulkhead && !(await this.#takePlace()))
        return "bulkhead-full";
      if (this.#stop === null && call.takeToken) await this.#untilHalted(call.takeToken(this.signal));
    } finally {
      target.waiting.delete(held);
    }
    const afterMs = clock.nowMs();
    this.waitedMs = afterMs - nowMs;
    const halted = this.#halted();
    if (halted !== null || breaker === null || breaker.holds(this.#permit, afterMs)) return halted;
    // The breaker has changed its state while this call waited: its earlier answer does not hold any more.
    return this.#askBreaker(afterMs);
  }

  #holdForBreaker(): void {
    this.#halt("BREAKER_OPEN", new Error("the breaker opened"));
  }

  #halted(): "deadline" | "cancelled" | "breaker-open" | null {
    if (this.#stop === null) return null;
    if (this.#stop.code === "BREAKER_OPEN") return "breaker-open";
    return this.#stop.code === "CANCELLED" ? "cancelled" : "deadline";
  }

  /** Waits for a place in the bulkhead; false when its queue is full. Halted: true, without a place. */
  #takePlace(): Promise<boolean> {
    const { firstAttempt, target } = this.#operation;
    const bulkhead = target.bulkhead!;
    this.#inBulkhead = bulkhead.tryEnter();
    if (this.#inBulkhead) return Promise.resolve(true);
    return new Promise((resolve) => {
      const granted = () => {
        this.#inBulkhead = true;
        this.#wake = null;
        resolve(true);
      };
      const place = bulkhead.queue(granted, { repeat: this.attempt > firstAttempt });
      if (place === null) return resolve(false);
      this.#wake = () => {
        place.leave();
        resolve(true);
      };
    });
  }

  /** Waits for `promise`, or until this attempt is halted; then the promise's own end no longer matters. */
  #untilHalted(promise: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#wake = resolve;
      promise.then(() => {
        this.#wake = null;
        resolve();
      }, reject);
    });
  }

  #send(): Promise<AttemptEnd<T>> {
    const { call, clock, policy, target } = this.#operation;
    this.startedMs = clock.nowMs();
    if (call.onClose) this.startedWallMs = clock.wallMs();
    this.timeoutMs =
      policy.dynamicTimeout === null
        ? policy.attemptTimeoutMs
        : dynamicTimeoutMs(policy.dynamicTimeout, target.latency, policy.attemptTimeoutMs);
    if (this.startedMs > (call.mayBeginUntilMs?.(this.attempt) ?? Number.POSITIVE_INFINITY)) this.#withdraw();
    if (this.#stop !== null) return Promise.resolve(this.#stopped("no"));
    return new Promise((resolve) => {
      this.#wake = () => resolve(this.#stopped(this.#phase === "authorizing" ? "no" : "maybe"));
      this.#alarm.set(this.#limit().dueMs, this.startedMs);
      const failed = (error: unknown) => {
        this.#wake = null;
        resolve(this.#failure(error));
      };
      try {
        call.attempt(this).then((value) => {
          this.#wake = null;
          resolve({ kind: "ok", value });
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  /** The nearest limit now, as monotonic ms: of the phase, of the attempt, or of the operation. */
  #limit(): { dueMs: number; code: TimeoutCode } {
    const { deadlineMs, policy } = this.#operation;
    const { ms, code } = phaseLimit(this.#phase, policy.phases, {
      wholeMs: this.timeoutMs,
      authorizedMs: this.#authorizedMs,
    });
    const dueMs = this.startedMs + ms;
    return dueMs <= deadlineMs ? { dueMs, code } : { dueMs: deadlineMs, code: "TIMEOUT_DEADLINE" };
  }

  /** Nothing is sent: it is recorded, and its turn came too late. */
  #withdraw(): void {
    this.#halt("CANCELLED", new Error("its turn came too late"));
  }

  #timeUp(): void {
    const waits = Number.isNaN(this.startedMs);
    if (waits && this.#operation.clock.nowMs() < this.#operation.deadlineMs) {
      this.#withdraw();
      return;
    }
    const code = waits ? "TIMEOUT_DEADLINE" : this.#limit().code;
    const sinceMs = code === "TIMEOUT_DEADLINE" ? this.#operation.startedMs : this.startedMs;
    this.#halt(code, new TimeoutError(code, this.#operation.clock.nowMs() - sinceMs));
  }

  #halt(code: TimeoutCode | "CANCELLED" | "BREAKER_OPEN", reason: unknown): void {
    if (this.#stop !== null) return;
    this.#stop = { code, reason };
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
    // After the end of the wait, so that the transport's own rejection on abort is ignored.
    this.#controller?.abort(reason);
  }

  #stopped(sent: "no" | "maybe"): AttemptEnd<T> {
    const { code, reason } = this.#stop!;
    if (code === "CANCELLED" || code === "BREAKER_OPEN") {
      return { kind: "cancelled", verdict: { ...verdict(code, CANCELLED), sent }, error: reason };
    }
    this.#timedOut = true;
    const answer = timeoutVerdict(code);
    return { kind: "failed", verdict: sent === "no" ? { ...answer, sent } : answer, error: reason };
  }

  /** A rejection is a failure, unless the client's own side has cancelled the send. */
  #failure(error: unknown): Extract<AttemptEnd<never>, { kind: "failed" | "cancelled" }> {
    const judged = this.#operation.classify(error);
    return { kind: judged.kind === "cancelled" ? "cancelled" : "failed", verdict: judged, error };
  }

  /** Records in the shared state what this attempt has shown about the target. */
  #report(end: AttemptEnd<T>): void {
    const { breaker, counters, ended, healer, latency, waits } = this.#operation.target;
    const nowMs = this.#operation.clock.nowMs();
    this.endedMs = nowMs;
    const elapsedMs = nowMs - this.startedMs;
    this.#operation.budget.settle(end.kind === "ok", this.#withdrawn, nowMs);
    counters.attempts++;
    if (end.kind !== "cancelled" && elapsedMs <= SOON_MS) ended.add(0, 1, nowMs);
    if (this.hedge) counters.hedges++;
    else if (this.attempt > this.#operation.firstAttempt) counters.retries++;
    if (this.#timedOut) counters.timeouts++;
    waits.record(this.waitedMs);
    if (end.kind === "ok") latency.record(elapsedMs);
    else if (this.#timedOut) latency.recordCensored(elapsedMs);
    healer?.observe({ retry: this.attempt > this.#operation.firstAttempt, timeout: this.#timedOut }, nowMs);
    if (end.kind === "failed" && end.verdict.kind === "throttled") counters.throttled++;
    this.#reportLoad(end, nowMs);
    if (breaker === null) return;
    if (judgesTarget(end)) breaker.record(this.#permit, countsAsFailure(end), elapsedMs, nowMs);
    else breaker.release(this.#permit);
  }

  #reportLoad(end: AttemptEnd<T>, nowMs: number): void {
    const { overload } = this.#operation.target;
    if (overload === null || !this.#admitted) return;
    if (!judgesTarget(end)) overload.withdraw(nowMs);
    else if (!countsAsFailure(end)) overload.accept(nowMs);
  }
}

/** A call that took no longer gives its place back soon. */
const SOON_MS = 50;

/** What is recorded and has no place by then is withdrawn: whoever stops sends must not wait for it. */
const PLACE_BACK_MS_MAX = 250;

/** Whether the breaker counts an end: not when our own side stopped the attempt or lacked a resource. */
function judgesTarget(end: AttemptEnd<unknown>): boolean {
  if (end.kind === "ok") return true;
  return end.kind === "failed" && end.verdict.blame === "target" && end.verdict.code !== "TIMEOUT_DEADLINE";
}

/** A permanent refusal is an answer of a healthy target. */
function countsAsFailure(end: AttemptEnd<unknown>): boolean {
  return end.kind === "failed" && end.verdict.kind !== "permanent";
}
