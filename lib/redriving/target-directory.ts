import type { Publisher } from "@/lib/brokers/port";
import { DomainError } from "@/lib/core/problem";
import type { BucketState, GuardedBucket } from "@/lib/lane/bucket-fallback";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import { BREAKER_WAIT_MS_MAX } from "@/lib/redriving/examine";
import { type FrozenPolicy, frozenPolicy } from "@/lib/redriving/frozen-policy";
import { bucketSpec } from "@/lib/redriving/rate-bucket";
import {
  type HeldSources,
  type NoTarget,
  type SliceTarget,
  type TargetDirectory,
  type TargetHealth,
  TargetHeld,
} from "@/lib/redriving/slice-deps";
import { createTokenFeeder, type TokenFeeder } from "@/lib/redriving/token-feeder";
import { Bulkhead } from "@/lib/retry/bulkhead";
import { type Counters, ratesOf, zeroCounters } from "@/lib/retry/counters";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { PolicyError } from "@/lib/retry/policy";
import { createTargetState, type TargetSnapshot, type TargetState } from "@/lib/retry/target";
import type { Db } from "@/lib/store/db";
import { readTargets, type TargetRow } from "@/lib/store/read/targets";
import type { RedriveRow } from "@/lib/store/write/redrive";

/** A changed rate, breaker order or source configuration is in force this soon. */
export const REFRESH_MS = 1_000;

/** A reachability probe is good for this long: the dry run of a slice costs no connection of its own. */
const PROBE_FRESH_MS = 2_000;
const PROBE_TIMEOUT_MS = 3_000;
/** After this long without a probe nobody knows whether a target was away all the time. */
const HEALTH_KNOWN_MS = 30_000;

/** The state of a policy version that no redrive has used for this long goes, once there is a newer one. */
const IDLE_MS = 600_000;

/** All probes of a half-open breaker are under way: their answer is looked for this often. */
const PROBING_MS = 500;

export type TargetDirectoryOptions = {
  db: Db;
  bucket: GuardedBucket;
  clock: Clock;
  log: Log;
  /**
   * Makes a publisher; null when the source has no destination on this lane. Throws DomainError when the configuration
   * cannot be used here (a missing env:NAME).
   */
  openPublisher: (target: TargetRow) => Publisher | null;
  /** Told of every self-healing step, to be audited. */
  onHealing: (target: string, step: HealingStep) => void;
};

/** What this worker shares between sends to one target under one version of its policy. */
type Held = {
  target: SliceTarget;
  state: TargetState;
  usedMs: number;
  resetAtMs: number | null;
  /** Sends that hold a place or wait for one. While the breaker is half-open there are no more than its probes. */
  entered: number;
  /** Aborts when the breaker opens: what waits for a place or a token then waits in vain. */
  opened: AbortController;
};

/** What this worker shares between all sends to one target. */
type Line = {
  row: TargetRow;
  publisher: Publisher | null;
  fault: string | null;
  feeder: TokenFeeder;
  slots: Bulkhead;
  health: Health;
};
type Health = {
  checkedMs: number;
  result: Promise<{ reachable: boolean; detail: string }>;
  unreachableSinceMs: number | null;
  forcedSinceMs: number | null;
};

/** The engine's state at one target, for the heartbeat: of the policy version used last, its counters over all. */
export type TargetReport = {
  snapshot: TargetSnapshot;
  policy: { name: string; version: number };
  bucket: BucketState;
};

export type OpenTargetDirectory = TargetDirectory & {
  /** By target name. */
  reports(): Record<string, TargetReport>;
  /** Takes due self-healing steps. */
  heal(): void;
  /** While something is being sent, operator's orders must reach it between two claims, too. */
  refreshIfSending(): Promise<void>;
  close(): Promise<void>;
};

export function createTargetDirectory(options: TargetDirectoryOptions): OpenTargetDirectory {
  const { clock, log } = options;
  const lines = new Map<string, Line>();
  const held = new Map<string, Held>();
  /** Counters of states that are gone, by target id: what is counted never shrinks while the worker lives. */
  const retired = new Map<string, Counters>();
  let refreshedMs = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;

  async function refresh(): Promise<void> {
    const rows = await readTargets(options.db);
    const seen = new Set(rows.map((row) => row.id));
    for (const row of rows) update(row);
    for (const [id, line] of lines) {
      if (seen.has(id)) continue;
      lines.delete(id);
      for (const [key, part] of held) if (part.target.row.id === id) held.delete(key);
      retired.delete(id);
      void closeQuietly(line.publisher, log);
    }
    refreshedMs = clock.nowMs();
  }

  /** Reads the targets again if the last reading is old; those who ask meanwhile wait for the same. */
  async function refreshed(): Promise<void> {
    if (clock.nowMs() - refreshedMs < REFRESH_MS) return;
    refreshing ??= refresh().finally(() => {
      refreshing = null;
    });
    await refreshing;
  }

  /** A reading that begins now: one under way may have been taken before the change that is looked for. */
  async function reread(): Promise<void> {
    await refreshing;
    refreshedMs = Number.NEGATIVE_INFINITY;
    await refreshed();
  }

  function lineOf(sourceId: string, redrive: RedriveRow): Line | undefined {
    return [...lines.values()].find(({ row }) => row.sourceId === sourceId && row.lane === redrive.lane);
  }

  function update(row: TargetRow): void {
    const known = lines.get(row.id);
    if (known && known.row.revision === row.revision) return;
    if (known) void closeQuietly(known.publisher, log);
    lines.set(row.id, openLine(row, known));
    for (const [key, part] of held) if (part.target.row.id === row.id) applyRow(key, part, row);
  }

  function openLine(row: TargetRow, known: Line | undefined): Line {
    return {
      row,
      ...tryOpen(row),
      health: newHealth(),
      slots: known && known.row.bulkhead === row.bulkhead ? known.slots : newSlots(row),
      feeder:
        known?.feeder ??
        createTokenFeeder({
          bucket: options.bucket,
          clock,
          spec: () => bucketSpec(bucketKey(row.id), rateOf(row.id), lines.get(row.id)?.row.burst ?? null),
          onError: (error) =>
            log.warn({ target: row.name, err: error }, "token bucket does not answer, sends wait for it"),
        }),
    };
  }

  /** The target's rate, lowered while its engine heals. null = unlimited. */
  function rateOf(id: string): number | null {
    const row = lines.get(id)?.row;
    if (!row || row.ratePerSecond === null) return null;
    return row.ratePerSecond * Math.min(1, ...heldOf(id).map((part) => part.state.healer?.rateFactor ?? 1));
  }

  /** The states of one target, the one used last first. */
  function heldOf(id: string): Held[] {
    return [...held.values()].filter((part) => part.target.row.id === id).sort((a, b) => b.usedMs - a.usedMs);
  }

  function tryOpen(row: TargetRow): Pick<Line, "publisher" | "fault"> {
    try {
      const publisher = options.openPublisher(row);
      return { publisher, fault: publisher ? null : `${row.source} has no destination on the ${row.lane} lane` };
    } catch (error) {
      log.warn({ target: row.name, err: error }, "target cannot be opened");
      const why = error instanceof DomainError ? error.message : "its configuration cannot be used";
      return { publisher: null, fault: `${row.name} cannot be opened: ${why}` };
    }
  }

  function applyRow(key: string, part: Held, row: TargetRow): void {
    const line = lines.get(row.id)!;
    if (line.publisher === null) {
      retire(key, part);
      return;
    }
    part.target.row = row;
    part.target.publisher = line.publisher;
    part.state.force(row.breakerForce ?? "auto");
    if (row.resetAtMs !== null && row.resetAtMs !== part.resetAtMs) part.state.reset();
    part.resetAtMs = row.resetAtMs;
  }

  function retire(key: string, part: Held): void {
    held.delete(key);
    const { id } = part.target.row;
    retired.set(id, addCounters(retired.get(id) ?? zeroCounters(), part.state.counters));
  }

  function hold(line: Line, frozen: FrozenPolicy): Held {
    const { row } = line;
    const state = createTargetState(frozen.policy, clock, {
      onBreakerChange: (change) => {
        log.warn({ target: row.name, ...change }, "breaker");
        if (change.to !== "open" && change.to !== "forced-open") return;
        part.opened.abort(new TargetHeld());
        part.opened = new AbortController();
      },
    });
    const now = () => lines.get(row.id) ?? line;
    const target: SliceTarget = {
      row,
      publisher: line.publisher!,
      policy: frozen.policy,
      policyVersion: { name: frozen.name, version: frozen.version },
      state,
      enter: async (signal, { repeat = false } = {}) => {
        // A repeat has the breaker's permit already.
        if (!repeat && waitOf(part) !== 0) throw new TargetHeld();
        const { slots, feeder } = now();
        const waits = AbortSignal.any([signal, part.opened.signal]);
        part.entered++;
        try {
          await enterSlot(slots, waits, repeat);
        } catch (error) {
          part.entered--;
          throw error;
        }
        const leave = () => {
          part.entered--;
          slots.release();
        };
        try {
          await feeder.take(waits);
        } catch (error) {
          leave();
          throw error;
        }
        return leave;
      },
      health: () => healthOf(row.id, state, target),
    };
    const part: Held = {
      target,
      state,
      usedMs: clock.nowMs(),
      resetAtMs: row.resetAtMs,
      entered: 0,
      opened: new AbortController(),
    };
    if (row.breakerForce) state.force(row.breakerForce);
    return part;
  }

  /** Milliseconds until another send may enter, as the breaker has it; null = when a person says so. */
  function waitOf({ state, target, entered }: Held): number | null {
    const { breaker } = state;
    if (breaker === null) return 0;
    const { state: now, waitMs } = breaker.snapshot(clock.nowMs());
    if (waitMs === null) return null;
    if (now === "half-open" && waitMs > 0) return Math.min(waitMs, PROBING_MS);
    if (waitMs > 0) return waitMs;
    // The open time is over or some probes have passed: what has entered may not have asked the breaker yet.
    const probing = now === "open" || now === "half-open";
    return probing && entered >= target.policy.breaker!.probes ? PROBING_MS : 0;
  }

  async function healthOf(id: string, state: TargetState, target: SliceTarget): Promise<TargetHealth> {
    const line = lines.get(id);
    if (!line)
      return {
        reachable: false,
        detail: "the target was removed",
        unreachableMs: Number.POSITIVE_INFINITY,
        forcedOpenMs: 0,
        breakerWaitMs: 0,
      };
    const { health } = line;
    const nowMs = clock.nowMs();
    if (nowMs - health.checkedMs > HEALTH_KNOWN_MS) health.unreachableSinceMs = null;
    if (nowMs - health.checkedMs >= PROBE_FRESH_MS) {
      health.checkedMs = nowMs;
      health.result = probe(target.publisher);
    }
    const { reachable, detail } = await health.result;
    const breakerWaitMs = state.breaker?.waitMs(nowMs) ?? (state.breaker === null ? 0 : null);
    health.unreachableSinceMs = reachable ? null : (health.unreachableSinceMs ?? nowMs);
    health.forcedSinceMs = breakerWaitMs === null ? (health.forcedSinceMs ?? nowMs) : null;
    // At least 1: this look has found it so.
    const sinceMs = (fromMs: number | null) => (fromMs === null ? 0 : Math.max(1, clock.nowMs() - fromMs));
    return {
      reachable,
      detail,
      unreachableMs: sinceMs(health.unreachableSinceMs),
      forcedOpenMs: sinceMs(health.forcedSinceMs),
      breakerWaitMs: breakerWaitMs ?? 0,
    };
  }

  async function heldSources(redrive: RedriveRow): Promise<HeldSources> {
    // While everything is held nothing else reads the targets, and a person may have closed a breaker.
    await refreshed();
    const found: HeldSources = { sourceIds: [], waitMs: Number.POSITIVE_INFINITY };
    for (const { row } of lines.values()) {
      const part = row.lane === redrive.lane ? heldFor(row, redrive) : undefined;
      const waitMs = part ? waitOf(part) : 0;
      // What a person holds open, or would wait for too long, is examined and refused by name.
      if (waitMs === null || waitMs === 0 || waitMs > BREAKER_WAIT_MS_MAX) continue;
      found.sourceIds.push(row.sourceId);
      found.waitMs = Math.min(found.waitMs, waitMs);
    }
    return found;
  }

  /** The state that sends of a redrive to a target share; undefined when nothing was sent under it yet. */
  function heldFor(row: TargetRow, redrive: RedriveRow): Held | undefined {
    try {
      return held.get(`${row.id} ${frozenPolicy(row, redrive).key}`);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      return undefined;
    }
  }

  function use(line: Line, redrive: RedriveRow): SliceTarget | NoTarget {
    try {
      const frozen = frozenPolicy(line.row, redrive);
      const key = `${line.row.id} ${frozen.key}`;
      const part = held.get(key) ?? hold(line, frozen);
      part.usedMs = clock.nowMs();
      held.set(key, part);
      return part.target;
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      return { fault: `${line.row.name} cannot be sent to: ${error.message}` };
    }
  }

  function reportOf({ row, slots }: Line): TargetReport | null {
    const [latest, ...older] = heldOf(row.id);
    if (!latest) return null;
    const counters = [...older.map((part) => part.state.counters), retired.get(row.id) ?? zeroCounters()].reduce(
      addCounters,
      latest.state.counters,
    );
    const snapshot = latest.state.snapshot();
    return {
      snapshot: { ...snapshot, bulkhead: slots.snapshot(), counters: { ...counters, ...ratesOf(counters) } },
      policy: latest.target.policyVersion,
      bucket: options.bucket.state(bucketKey(row.id)),
    };
  }

  /** States of policy versions whose redrives are over. The one used last stays: the console shows it. */
  function prune(): void {
    for (const { row } of lines.values()) {
      const [, ...older] = heldOf(row.id);
      for (const [key, part] of held) {
        if (older.includes(part) && clock.nowMs() - part.usedMs > IDLE_MS) retire(key, part);
      }
    }
  }

  return {
    find: async (sourceId, redrive) => {
      await refreshed();
      let line = lineOf(sourceId, redrive);
      // A source that was made or changed since the last reading is looked up before its events are refused.
      if (!line?.publisher) {
        await reread();
        line = lineOf(sourceId, redrive);
      }
      if (!line) return { fault: `the source has no target on the ${redrive.lane} lane` };
      if (!line.publisher) return { fault: line.fault ?? "its publisher is closed" };
      return use(line, redrive);
    },
    heldSources,
    reports: () => {
      prune();
      const reports = [...lines.values()].map((line) => [line.row.name, reportOf(line)] as const);
      return Object.fromEntries(reports.filter((entry): entry is [string, TargetReport] => entry[1] !== null));
    },
    heal: () => {
      for (const { target, state } of held.values()) {
        const step = state.heal();
        if (step) options.onHealing(target.row.name, step);
      }
    },
    refreshIfSending: async () => {
      const sending = [...lines.values()].some(({ slots }) => slots.snapshot().inUse > 0);
      if (sending) await refreshed();
    },
    close: async () => {
      await Promise.all([...lines.values()].map((line) => closeQuietly(line.publisher, log)));
    },
  };
}

function addCounters(one: Counters, other: Counters): Counters {
  const sum = { ...one };
  for (const name of Object.keys(sum) as (keyof Counters)[]) sum[name] += other[name];
  return sum;
}

function newHealth(): Health {
  const result = Promise.resolve({ reachable: true, detail: "not probed yet" });
  return { checkedMs: Number.NEGATIVE_INFINITY, result, unreachableSinceMs: null, forcedSinceMs: null };
}

function bucketKey(targetId: string): string {
  return `target:${targetId}`;
}

function newSlots(row: TargetRow): Bulkhead {
  return new Bulkhead({ permits: row.bulkhead, queueMax: Number.POSITIVE_INFINITY });
}

async function probe(publisher: Publisher): Promise<{ reachable: boolean; detail: string }> {
  try {
    return await publisher.probe(AbortSignal.timeout(PROBE_TIMEOUT_MS));
  } catch (error) {
    return { reachable: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

/** A publisher that is replaced or left behind: its failure to close changes nothing any more. */
async function closeQuietly(publisher: Publisher | null, log: Log): Promise<void> {
  await publisher?.close().catch((error: unknown) => log.warn({ err: error }, "publisher did not close"));
}

function enterSlot(slots: Bulkhead, signal: AbortSignal, repeat: boolean): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (slots.tryEnter()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const granted = () => {
      signal.removeEventListener("abort", abandon);
      resolve();
    };
    const waiter = slots.queue(granted, { repeat });
    const abandon = () => {
      if (waiter?.leave()) reject(signal.reason);
    };
    signal.addEventListener("abort", abandon, { once: true });
  });
}
