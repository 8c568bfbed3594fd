import type { Clock } from "@/lib/retry/clock";

/**
 * One timer for a sequence of limits. Moving the limit later leaves the armed timer alone: when it fires early it is
 * armed again for the rest. A call that passes a queue, a token and a send within its limits costs one timer.
 */
export class Alarm {
  #clock: Clock;
  #tickMs: number;
  #fire: () => void;
  #dueMs = 0;
  #armedMs = 0;
  #disarm: (() => void) | null = null;

  /** @param tickMs the shortest limit that is to come: the timer is never armed further ahead @param fire called once */
  constructor(clock: Clock, tickMs: number, fire: () => void) {
    this.#clock = clock;
    this.#tickMs = tickMs;
    this.#fire = fire;
  }

  /** Sets the limit (monotonic ms) in force from now on. */
  set(dueMs: number, nowMs: number): void {
    this.#dueMs = dueMs;
    if (this.#disarm !== null && this.#armedMs <= dueMs) return;
    this.clear();
    this.#arm(nowMs, Math.min(dueMs, nowMs + this.#tickMs));
  }

  clear(): void {
    this.#disarm?.();
    this.#disarm = null;
  }

  #arm(nowMs: number, atMs: number): void {
    this.#armedMs = atMs;
    this.#disarm = this.#clock.timer(Math.max(0, atMs - nowMs), () => this.#ring());
  }

  #ring(): void {
    this.#disarm = null;
    const nowMs = this.#clock.nowMs();
    if (nowMs >= this.#dueMs) this.#fire();
    else this.#arm(nowMs, this.#dueMs);
  }
}
