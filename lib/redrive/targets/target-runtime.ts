import type { Publisher } from "@/lib/brokers/port";
import type { BucketState, GuardedBucket } from "@/lib/lane/bucket-fallback";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { bucketSpec, evenBucketSpec } from "@/lib/redrive/pace/rate-bucket";
import { createTokenFeeder, type TokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { policyAmong, type UsedPolicy } from "@/lib/redrive/targets/policies";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import { type Away, createHealthProbe, type HealthProbe, type TargetHealth } from "@/lib/redrive/targets/target-health";
import { createTargetState, type TargetSnapshot, type TargetState } from "@/lib/retry/target";
import { rollingSums } from "@/lib/retry/window/rolling-sums";
import type { SentNow } from "@/lib/sources/targets/target-list.read";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

export type TargetLineOptions = {
  bucket: GuardedBucket;
  clock: Clock;
  log: Log;
  /**
   * Makes a publisher; null when it has no destination. Throws DomainError when the configuration
   * cannot be used here (a missing env:NAME).
   */
  openPublisher: (target: TargetRow) => Publisher | null;
  paces: Pick<Paces, "targetsMs">;
};

/** The engine's state at one target, for the heartbeat. */
export type TargetReport = {
  snapshot: TargetSnapshot;
  /** It cannot be reached; null = it can, as far as this worker knows. */
  away: Away | null;
  policy: { name: string; version: number };
  bucket: BucketState;
  sent: SentNow;
};

/** A worker reports this often: one count a slot. */
const REPORT_MS = 2_000;
const SENT_MS = { tenSeconds: 10_000, minute: 60_000 };

/** All probes of a half-open breaker are under way: their answer is looked for this often. */
const PROBING_MS = 500;

const REMOVED: TargetHealth = {
  reachable: false,
  detail: "the target was removed",
  unreachableMs: Number.POSITIVE_INFINITY,
  forcedOpenMs: 0,
  breakerWaitMs: 0,
};

/**
 * One target in this worker. Breaker, retry budget, latency, bulkhead and rate are one for all sends to it, whichever
 * redrive they belong to and whichever version of a policy that redrive has frozen: their settings are those in force.
 */
export class TargetRuntime {
  /** Why nothing can be sent; null = sends are possible. */
  fault: string | null = null;
  readonly state: TargetState;
  /** Something was sent to it since this worker started. */
  used = false;
  #row: TargetRow;
  #inForce: UsedPolicy;
  /** The last one that could be opened; sends under way when the configuration changes go on with the new one. */
  #publisher: Publisher | null = null;
  /** The address and the secrets that it was opened with; null = reopen it at the next change. */
  #openedWith: string | null = null;
  /** Ends the waits for it while a person has stopped it. */
  #stop = new AbortController();
  #removed = false;
  /** Attempts at the last report, and those between the reports before. */
  #attempts = 0;
  readonly #sent = {
    tenSeconds: rollingSums(1, SENT_MS.tenSeconds, SENT_MS.tenSeconds / REPORT_MS),
    minute: rollingSums(1, SENT_MS.minute, SENT_MS.minute / REPORT_MS),
  };
  #health: HealthProbe;
  readonly #feeder: TokenFeeder;
  readonly #options: TargetLineOptions;

  constructor(row: TargetRow, inForce: UsedPolicy, options: TargetLineOptions) {
    const { clock, log, bucket } = options;
    this.#options = options;
    this.#row = row;
    this.#inForce = inForce;
    this.#health = createHealthProbe(clock);
    this.state = createTargetState(inForce.policy, clock, {
      bulkhead: { permits: row.bulkhead, queueMax: Number.POSITIVE_INFINITY },
      onBreakerChange: (change) => log.warn({ target: row.name, ...change }, "breaker"),
    });
    if (row.breakerForce) this.state.force(row.breakerForce);
    this.#feeder = createTokenFeeder({
      bucket,
      clock,
      spec: () => this.#bucketSpec(),
      onError: (error) => log.warn({ target: row.name, err: error }, "token bucket does not answer, sends wait for it"),
    });
    this.#open();
    this.#setStopped(row);
  }

  get row(): TargetRow {
    return this.#row;
  }

  /** The newest version of the target's policy: breaker, budget and healing follow it. */
  get inForce(): UsedPolicy {
    return this.#inForce;
  }

  /** Takes over what was changed in the store. */
  adopt(row: TargetRow, inForce: UsedPolicy): void {
    if (inForce.policy !== this.#inForce.policy) this.state.adopt(inForce.policy);
    this.#inForce = inForce;
    this.#setStopped(row);
    if (this.#row.revision === row.revision) return;
    const wasReset = row.resetAtMs !== null && row.resetAtMs !== this.#row.resetAtMs;
    this.#row = row;
    // A reset also makes a new connection: the secret in a file may have changed.
    if (wasReset) this.#openedWith = null;
    this.#open();
    this.state.bulkhead!.resize(row.bulkhead);
    this.state.force(row.breakerForce ?? "auto");
    if (wasReset) this.state.reset();
  }

  /** The store has it no more: sends under way learn it from its health. */
  remove(): void {
    this.#removed = true;
    void this.close();
  }

  close(): Promise<void> {
    return this.#closeQuietly(this.#publisher);
  }

  /**
   * The target for sends of one redrive: all but the redrive's own policy is read live from here. Throws PolicyError when the
   * frozen policy cannot be used.
   */
  forRedrive(redrive: RedriveRow): SliceTarget {
    const { name, version, policy } = policyAmong(redrive.policies, this.#row.policyName);
    const line = this;
    this.used = true;
    return {
      get row() {
        return line.#row;
      },
      get publisher() {
        return line.#publisher!;
      },
      policy,
      policyVersion: { name, version },
      state: this.state,
      get stopped() {
        return line.#stop.signal;
      },
      takeToken: (signal) => this.#feeder.take(signal),
      markUnreachable: (detail) => this.#health.markUnreachable(detail),
      reachedNow: async () => {
        this.#health.discardResult();
        return (await this.#check()).reachable;
      },
      health: async () => (this.#removed ? { ...REMOVED } : this.#check()),
    };
  }

  /** Milliseconds until the breaker lets another send begin; null = until a person orders it. */
  breakerWaitMs(): number | null {
    const { breaker } = this.state;
    if (breaker === null) return 0;
    const { state, waitMs } = breaker.snapshot(this.#options.clock.nowMs());
    return state === "half-open" && waitMs !== null ? Math.min(waitMs, PROBING_MS) : waitMs;
  }

  /** It was not reached. Checks again in the background: the events of other targets must not wait for a probe of this one. */
  isAway(): boolean {
    if (this.#health.away() === null || this.#publisher === null) return false;
    this.#health.checkInBackground(this.#publisher);
    return true;
  }

  report(): TargetReport {
    const { name, version } = this.#inForce;
    const snapshot = this.state.snapshot();
    return {
      snapshot,
      sent: this.#sentNow(snapshot.counters.attempts),
      away: this.#health.away(),
      policy: { name, version },
      bucket: this.#options.bucket.state(bucketKey(this.#row.id)),
    };
  }

  #sentNow(attempts: number): SentNow {
    const nowMs = this.#options.clock.nowMs();
    for (const sums of Object.values(this.#sent)) sums.add(0, attempts - this.#attempts, nowMs);
    this.#attempts = attempts;
    return { tenSeconds: this.#sent.tenSeconds.sum(0, nowMs), minute: this.#sent.minute.sum(0, nowMs) };
  }

  #check(): Promise<TargetHealth> {
    return this.#health.check(this.#publisher!, this.state.breaker);
  }

  /** The target's rate, lowered while its engine heals. */
  #bucketSpec() {
    const { id, ratePerSecond, noBursts, burst } = this.#row;
    const rate = ratePerSecond === null ? null : ratePerSecond * (this.state.healer?.rateFactor ?? 1);
    return noBursts ? evenBucketSpec(bucketKey(id), rate) : bucketSpec(bucketKey(id), rate, burst);
  }

  /**
   * Opens a publisher unless the current one has the row's address and secrets, and closes the one that it replaces. If the
   * configuration cannot be opened, running sends keep the current one.
   */
  #open(): void {
    const row = this.#row;
    const address = JSON.stringify([row.kind, row.lane, row.config]);
    if (address === this.#openedWith) {
      this.fault = null;
      return;
    }
    try {
      const publisher = this.#options.openPublisher(row);
      this.fault = publisher ? null : noDestination(row);
      if (publisher === null) return;
      void this.#closeQuietly(this.#publisher);
      this.#publisher = publisher;
      this.#openedWith = address;
      this.#health = createHealthProbe(this.#options.clock);
    } catch (error) {
      this.#options.log.warn({ target: row.name, err: error }, "target cannot be opened");
      const why = error instanceof DomainError ? error.message : "its configuration cannot be used";
      this.fault = `${row.name} cannot be opened: ${why}`;
    }
  }

  /** A stop counts at once, and does not wait for another revision of the target. */
  #setStopped({ stopped, resumedAtMs }: TargetRow): void {
    this.#row = { ...this.#row, stopped, resumedAtMs };
    if (stopped) this.#stop.abort(new Error(`the sends to ${this.#row.name} were stopped`));
    else if (this.#stop.signal.aborted) this.#stop = new AbortController();
  }

  /** A failure to close is logged. */
  async #closeQuietly(publisher: Publisher | null): Promise<void> {
    const { log } = this.#options;
    await publisher?.close().catch((error: unknown) => log.warn({ err: error }, "publisher did not close"));
  }
}

function noDestination({ name, source, lane }: TargetRow): string {
  return lane === null ? `${name} has no destination` : `${source} has no destination on the ${lane} lane`;
}

function bucketKey(targetId: string): string {
  return `target:${targetId}`;
}
