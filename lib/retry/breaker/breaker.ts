import { type Probes, probeSlots } from "@/lib/retry/breaker/probes";
import { isSlow, probeGauge, type Trip, type TripCounts, type TripGauge, tripGauge } from "@/lib/retry/breaker/trip";

export type BreakerPolicy = {
  trip: Trip;
  /** How long the breaker stays open before it lets probes through. Doubles with each failed probe, up to openMsMax. */
  openMs: number;
  openMsMax: number;
  /** Probes of the half-open state: as many may be under way, and all must pass before it closes. */
  probes: number;
  /** Least time between probes, at most `openMs`, so that half-open states do not add up. Absent = 0: probes may pass together. */
  probeEveryMs?: number;
  /** A probe that has not reported by then is lost: it counts as failed, so a leaked permit cannot hold the state. */
  probeMsMax: number;
};

/** An operator orders `forced-*`: only `force` and `reset` end them. */
export type BreakerState = "closed" | "open" | "half-open" | "forced-open" | "forced-closed";

/** Why the state moved: a threshold, the end of the open time, probes, or an operator. */
export type BreakerChange = { from: BreakerState; to: BreakerState; cause: "trip" | "timer" | "probe" | "operator" };

export type BreakerSnapshot = TripCounts & {
  state: BreakerState;
  /** Milliseconds until a call may pass, 0 when one may now, null when only an operator can open the way. */
  waitMs: number | null;
  /** Share of this breaker's life spent open, 0..1. */
  openRatio: number;
  probesInFlight: number;
};

/** `acquire` answers this when the call may not pass. */
export const DENIED = -1;

/**
 * Circuit breaker of one target.
 *
 * closed: every call passes and is counted; reaching the trip opens it. open: nothing passes for openMs, then the next
 * call makes it half-open. half-open: at most `probes` calls pass, one in each
 * `probeEveryMs`, the rest are denied; a failed or lost probe opens it
 * again for twice as long, all probes passing closes it with an empty window.
 *
 * Each passage is a permit that belongs to the state it was given in: a result that arrives after the state has moved
 * is ignored. Sources: Polly and resilience4j for the states; expiring permits after resilience4j's
 * maxWaitDurationInHalfOpenState.
 */
export class Breaker {
  #policy: BreakerPolicy;
  /** The policy that the half-open state began with: a change of it must not move the number of probes that decide. */
  #probing: BreakerPolicy;
  #state: BreakerState = "closed";
  #gauge: TripGauge;
  #closedGauge: TripGauge;
  #probes: Probes;
  /** Permits of a closed state are all equal to its epoch; a probe's permit is its own number. */
  #epoch = 0;
  #openings = 0;
  #openUntilMs = 0;
  #bornMs: number;
  #openSinceMs = 0;
  #openTotalMs = 0;
  #onChange: (change: BreakerChange) => void;

  /** @param nowMs monotonic time of birth, from which the open ratio is counted */
  constructor(policy: BreakerPolicy, nowMs: number, onChange: (change: BreakerChange) => void = () => {}) {
    this.#policy = policy;
    this.#probing = policy;
    this.#closedGauge = tripGauge(policy.trip);
    this.#gauge = this.#closedGauge;
    this.#probes = probeSlots(policy);
    this.#bornMs = nowMs;
    this.#onChange = onChange;
  }

  /**
   * Goes on under another policy. The state, the end of the open time and the number of openings stay; the window is
   * emptied when the trip differs. A half-open state decides by the probes it began with.
   */
  adopt(policy: BreakerPolicy): void {
    if (JSON.stringify(policy.trip) !== JSON.stringify(this.#policy.trip)) {
      const counting = this.#gauge === this.#closedGauge;
      this.#closedGauge = tripGauge(policy.trip);
      if (counting) this.#gauge = this.#closedGauge;
    }
    this.#policy = policy;
  }

  /** Asks to pass at `nowMs`. @returns a permit for exactly one of `record` and `release`, or DENIED. */
  acquire(nowMs: number): number {
    if (this.#state === "closed" || this.#state === "forced-closed") return this.#epoch;
    this.#settle(nowMs);
    if (this.#state === "open" && nowMs >= this.#openUntilMs) this.#halfOpen(nowMs);
    if (this.#state !== "half-open" || !this.#probes.take(this.#epoch + 1, nowMs)) return DENIED;
    this.#epoch++;
    return this.#epoch;
  }

  /** Whether a permit is still of the present state: after a wait, a stale one must be acquired anew. */
  holds(permit: number, nowMs: number): boolean {
    this.#settle(nowMs);
    return this.#state === "half-open" ? this.#probes.has(permit) : !this.#blocks() && permit === this.#epoch;
  }

  /** Reports a result. Ignored when the permit's state is gone. @param elapsedMs how long the call took */
  record(permit: number, failed: boolean, elapsedMs: number, nowMs: number): void {
    if (!this.holds(permit, nowMs) || this.#state === "forced-closed") return;
    const probing = this.#state === "half-open";
    this.#probes.report(permit);
    if (this.#gauge.record(failed, isSlow((probing ? this.#probing : this.#policy).trip, elapsedMs), nowMs)) {
      this.#open(nowMs, probing ? "probe" : "trip");
    } else if (probing && this.#probes.reported >= this.#probing.probes) {
      this.#openings = 0;
      this.#move("closed", nowMs, "probe");
    }
  }

  /** Returns an unused permit: the call was cancelled, or its end has no cause at the target. */
  release(permit: number): void {
    this.#probes.release(permit);
  }

  /**
   * An operator's order. `auto` ends an order and starts closed with an empty window; without an order in force it
   * changes nothing, so that it may be given whenever settings are read.
   */
  force(order: "open" | "closed" | "auto", nowMs: number): void {
    const forced = this.#state === "forced-open" || this.#state === "forced-closed";
    if (order === "auto" && !forced) return;
    const to = order === "open" ? "forced-open" : order === "closed" ? "forced-closed" : "closed";
    if (to !== this.#state) this.#start(to, nowMs);
  }

  /** Closes it with an empty window, whatever its state: an operator has found the target well. */
  reset(nowMs: number): void {
    this.#start("closed", nowMs);
  }

  snapshot(nowMs: number): BreakerSnapshot {
    this.#settle(nowMs);
    const openMs = this.#openTotalMs + (this.#blocks() ? nowMs - this.#openSinceMs : 0);
    const lifeMs = nowMs - this.#bornMs;
    return {
      ...this.#gauge.counts(nowMs),
      state: this.#state,
      waitMs: this.waitMs(nowMs),
      openRatio: lifeMs > 0 ? openMs / lifeMs : 0,
      probesInFlight: this.#probes.inFlight,
    };
  }

  /** Whether it is half-open: who passes now is a probe. */
  get probing(): boolean {
    return this.#state === "half-open";
  }

  /** Milliseconds until a call may pass; null when only an operator can open the way. */
  waitMs(nowMs: number): number | null {
    this.#settle(nowMs);
    if (this.#state === "forced-open") return null;
    if (this.#state === "half-open") return this.#probes.waitMs(nowMs);
    return this.#state === "open" ? Math.max(0, this.#openUntilMs - nowMs) : 0;
  }

  #start(state: BreakerState, nowMs: number): void {
    this.#openings = 0;
    this.#move(state, nowMs, "operator");
  }

  #blocks(): boolean {
    return this.#state === "open" || this.#state === "forced-open";
  }

  /** A lost probe opens the breaker at the moment it expired, not at the next call. */
  #settle(nowMs: number): void {
    if (this.#state !== "half-open") return;
    const expiredMs = this.#probes.expiredMs(nowMs);
    if (expiredMs !== null) this.#open(expiredMs, "probe");
  }

  #open(nowMs: number, cause: BreakerChange["cause"]): void {
    this.#openings++;
    const { openMs, openMsMax } = this.#policy;
    this.#openUntilMs = nowMs + Math.min(openMs * 2 ** (this.#openings - 1), openMsMax);
    this.#move("open", nowMs, cause);
  }

  #halfOpen(nowMs: number): void {
    this.#move("half-open", nowMs, "timer");
    this.#probing = this.#policy;
    this.#probes = probeSlots(this.#probing);
    this.#gauge = probeGauge(this.#probing.trip, this.#probing.probes);
  }

  #move(to: BreakerState, nowMs: number, cause: BreakerChange["cause"]): void {
    const from = this.#state;
    const blocked = this.#blocks();
    this.#state = to;
    if (blocked && !this.#blocks()) this.#openTotalMs += nowMs - this.#openSinceMs;
    if (!blocked && this.#blocks()) this.#openSinceMs = nowMs;
    this.#epoch++;
    this.#closedGauge.clear();
    this.#gauge = this.#closedGauge;
    this.#probes.clear();
    if (from !== to) this.#onChange({ from, to, cause });
  }
}
