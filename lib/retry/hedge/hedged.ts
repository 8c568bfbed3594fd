import { Attempt, type AttemptEnd } from "@/lib/retry/attempt";
import type { Outcome } from "@/lib/retry/call";
import type { HedgePolicy } from "@/lib/retry/hedge/hedge-policy";
import { Inbox } from "@/lib/retry/hedge/inbox";
import { type Failed, type History, nextStep, refused, remember, stopped } from "@/lib/retry/next-step";
import type { Operation } from "@/lib/retry/operation";

type Sent<T> = { attempt: Attempt<T>; end: AttemptEnd<T> };

/** Makes the answer, once no send is under way any more. */
type Verdict<T> = () => Outcome<T>;

const NEVER_MS = Number.POSITIVE_INFINITY;

/** Why the sends that were overtaken are cancelled. */
const SUPERSEDED = { name: "AbortError", code: "SUPERSEDED" } as const;

/**
 * Sends side by side. The first at once; another after each `delayMs` of silence, or at once when one fails without
 * ruling out success (a Retry-After delays it). The first success wins and the rest are cancelled; a permanent
 * failure cancels all. Every send after the first is paid from the retry budget; when that is empty, those under way
 * are waited for. Nothing is retried after all have failed. Source: gRPC A6, "Hedging policy".
 */
export async function hedged<T>(operation: Operation<T>, policy: HedgePolicy): Promise<Outcome<T>> {
  const race = new Race(operation, policy);
  try {
    race.send(0);
    for (;;) {
      const arrived = await race.next();
      const answer = arrived === null ? race.silence() : await race.settle(arrived);
      if (answer !== null) return await race.finish(answer);
    }
  } finally {
    race.dispose();
  }
}

class Race<T> {
  #operation: Operation<T>;
  #delayMs: number;
  #inbox: Inbox<Sent<T>>;
  #live = new Set<Attempt<T>>();
  #number: number;
  #lastNumber: number;
  /** When the next send starts, monotonic ms. */
  #nextMs = NEVER_MS;
  /** The amount paid for a send that a Retry-After delays; null = no send is delayed. */
  #held: number | null = null;
  #history: History = { last: null, sameCode: 0, delayMs: null };

  constructor(operation: Operation<T>, { delayMs, sendsMax }: HedgePolicy) {
    this.#operation = operation;
    this.#delayMs = delayMs;
    this.#inbox = new Inbox(operation.clock);
    this.#number = operation.firstAttempt;
    this.#lastNumber = Math.min(operation.lastAttempt, operation.firstAttempt + sendsMax - 1);
    operation.join(this.#inbox);
  }

  /** The next end of a send; null when it is time for another one, or when cancelled. */
  next(): Promise<Sent<T> | null> {
    return this.#inbox.take(this.#nextMs);
  }

  send(withdrawn: number): void {
    const nowMs = this.#operation.clock.nowMs();
    const hedge = this.#number > this.#operation.firstAttempt;
    const attempt = new Attempt(this.#operation, this.#number++, { withdrawn, hedge });
    this.#nextMs = this.#number > this.#lastNumber ? NEVER_MS : nowMs + this.#delayMs;
    this.#held = null;
    this.#live.add(attempt);
    const run = this.#operation.run(attempt, nowMs).catch((error: unknown): AttemptEnd<T> => {
      // A hedge that may not be sent does not end the sends that it hedges.
      if (hedge && this.#live.size > 1) return { kind: "unopened", why: "cancelled" };
      throw error;
    });
    this.#inbox.expect(run.then((end) => ({ attempt, end })));
  }

  /** No answer has come for a while: starts another send, if time and budget allow. */
  silence(): Verdict<T> | null {
    const { budget, cancelled, clock, deadlineMs, halted, policy } = this.#operation;
    if (halted && this.#live.size > 0) {
      // Sends under way run to their own end.
      this.#nextMs = NEVER_MS;
      return null;
    }
    if (cancelled !== null) return () => this.#operation.cancel(cancelled.reason);
    const nowMs = clock.nowMs();
    const sinceMs = this.#silentSinceMs(nowMs);
    if (sinceMs + this.#delayMs > nowMs) {
      this.#nextMs = sinceMs + this.#delayMs;
      return null;
    }
    const late = deadlineMs - nowMs <= policy.marginMs;
    const withdrawn = this.#held ?? (late ? null : budget.withdraw("transient", nowMs));
    if (withdrawn === null) this.#nextMs = NEVER_MS;
    else this.send(withdrawn);
    return null;
  }

  /** A hedge is for a target that is silent, not for a send that waits for its turn: monotonic ms of the last send. */
  #silentSinceMs(nowMs: number): number {
    if (this.#held !== null) return Number.NEGATIVE_INFINITY;
    const started = [...this.#live].map((attempt) => (Number.isNaN(attempt.startedMs) ? nowMs : attempt.startedMs));
    return Math.max(Number.NEGATIVE_INFINITY, ...started);
  }

  /** One send has ended. @returns how to answer when that decides the operation, null while others may still */
  async settle({ attempt, end }: Sent<T>): Promise<Verdict<T> | null> {
    this.#live.delete(attempt);
    if (end.kind === "failed") return this.#failed(attempt, end);
    if (end.kind === "unopened") {
      this.#nextMs = NEVER_MS;
      return this.#live.size > 0 ? null : () => refused(this.#operation, end.why, this.#history.last);
    }
    await this.#operation.close(attempt, end);
    const withdrawn = end.kind === "cancelled" && end.verdict.sent === "no" && this.#operation.cancelled === null;
    if (withdrawn && this.#live.size > 0) {
      // A hedge that had no turn does not end the sends that it hedges.
      this.#nextMs = NEVER_MS;
      return null;
    }
    return () => (end.kind === "ok" ? this.#operation.succeed(end.value) : this.#operation.cancel(end.error));
  }

  /** Cancels the sends under way and lets each write its record. A success that came a moment too late still counts. */
  async finish(answer: Verdict<T>): Promise<Outcome<T>> {
    let final = answer;
    for (const attempt of this.#live) attempt.cancel(SUPERSEDED);
    while (this.#live.size > 0) {
      const arrived = await this.#inbox.take(NEVER_MS);
      if (arrived === null) continue;
      const { attempt, end } = arrived;
      this.#live.delete(attempt);
      if (end.kind !== "unopened") await this.#operation.close(attempt, end);
      if (end.kind === "ok") final = () => this.#operation.succeed(end.value);
    }
    return final();
  }

  /** Ends all sends, also when a hook has rejected. */
  dispose(): void {
    for (const attempt of this.#live) attempt.cancel(SUPERSEDED);
    this.#giveBack();
  }

  /** Returns the payment for a send that will not be made. */
  #giveBack(): void {
    if (this.#held !== null) this.#operation.budget.settle(false, this.#held, this.#operation.clock.nowMs());
    this.#held = null;
  }

  async #failed(attempt: Attempt<T>, end: Failed): Promise<Verdict<T> | null> {
    remember(this.#history, end);
    // No backoff: a failure brings the next send forward, unless the target itself asks for a delay.
    const bounds = { lastAttempt: this.#lastNumber, backoffFactor: 0 };
    const decided = nextStep(this.#operation, this.#number - 1, { ...this.#history, last: end }, bounds);
    const { next } = decided;
    await this.#operation.close(attempt, end, decided);
    if (next.kind === "retry") {
      if (next.honored) this.#operation.target.counters.retryAfterHonored++;
      this.#giveBack();
      this.#held = next.withdrawn;
      this.#nextMs = this.#operation.clock.nowMs() + (this.#operation.cancelled === null ? next.delayMs : 0);
      return null;
    }
    this.#nextMs = NEVER_MS;
    const final = next.kind === "give-up" && next.reason === "permanent";
    return this.#live.size > 0 && !final ? null : () => stopped(this.#operation, end, next);
  }
}
