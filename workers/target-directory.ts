import type { Publisher } from "@/lib/brokers/port";
import { DomainError } from "@/lib/core/problem";
import type { BucketState, GuardedBucket } from "@/lib/lane/bucket-fallback";
import { createTokenFeeder, type TokenFeeder } from "@/lib/lane/token-feeder";
import type { NoTarget, SliceTarget, TargetDirectory, TargetHealth } from "@/lib/operations/slice-deps";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import { Bulkhead } from "@/lib/retry/bulkhead";
import { type Counters, ratesOf, zeroCounters } from "@/lib/retry/counters";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { PolicyError } from "@/lib/retry/policy";
import { createTargetState, type TargetSnapshot, type TargetState } from "@/lib/retry/target";
import type { Db } from "@/lib/store/db";
import { readTargets, type TargetRow } from "@/lib/store/read/targets";
import type { RedriveRow } from "@/lib/store/write/redrive";
import { bucketSpec } from "./bucket-spec";
import { type FrozenPolicy, frozenPolicy } from "./frozen-policy";

/** A changed rate, breaker order or source configuration is in force this soon. */
export const REFRESH_MS = 1_000;

/** A reachability probe is good for this long: the dry run of a slice costs no connection of its own. */
const PROBE_FRESH_MS = 2_000;
const PROBE_TIMEOUT_MS = 3_000;

/** The state of a policy version that no redrive has used for this long goes, once there is a newer one. */
const IDLE_MS = 600_000;

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
type Held = { target: SliceTarget; state: TargetState; usedMs: number; resetAtMs: number | null };

/** What this worker shares between all sends to one target. */
type Line = {
  row: TargetRow;
  publisher: Publisher | null;
  fault: string | null;
  feeder: TokenFeeder;
  slots: Bulkhead;
  health: Health;
};
type Health = { checkedMs: number; result: Promise<{ reachable: boolean; detail: string }>; badSinceMs: number | null };

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
      health: { checkedMs: Number.NEGATIVE_INFINITY, result: Promise.resolve(WELL), badSinceMs: null },
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
      onBreakerChange: (change) => log.warn({ target: row.name, ...change }, "breaker"),
    });
    if (row.breakerForce) state.force(row.breakerForce);
    const now = () => lines.get(row.id) ?? line;
    const target: SliceTarget = {
      row,
      publisher: line.publisher!,
      policy: frozen.policy,
      policyVersion: { name: frozen.name, version: frozen.version },
      state,
      enter: async (signal) => {
        const { slots, feeder } = now();
        await enterSlot(slots, signal);
        try {
          await feeder.take(signal);
        } catch (error) {
          slots.release();
          throw error;
        }
        return () => slots.release();
      },
      takeToken: (signal) => now().feeder.take(signal),
      health: () => healthOf(row.id, state, target),
    };
    return { target, state, usedMs: clock.nowMs(), resetAtMs: row.resetAtMs };
  }

  async function healthOf(id: string, state: TargetState, target: SliceTarget): Promise<TargetHealth> {
    const line = lines.get(id);
    if (!line)
      return {
        reachable: false,
        detail: "the target was removed",
        breakerOpen: false,
        unavailableMs: Number.POSITIVE_INFINITY,
      };
    const { health } = line;
    const nowMs = clock.nowMs();
    if (nowMs - health.checkedMs >= PROBE_FRESH_MS) {
      health.checkedMs = nowMs;
      health.result = probe(target.publisher);
    }
    const { reachable, detail } = await health.result;
    const breakerOpen = ["open", "forced-open"].includes(state.snapshot().breaker?.state ?? "closed");
    const bad = !reachable || breakerOpen;
    health.badSinceMs = bad ? (health.badSinceMs ?? nowMs) : null;
    return {
      reachable,
      detail,
      breakerOpen,
      unavailableMs: health.badSinceMs === null ? 0 : clock.nowMs() - health.badSinceMs,
    };
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
      const line = [...lines.values()].find(({ row }) => row.sourceId === sourceId && row.lane === redrive.lane);
      if (!line) return { fault: `the source has no target on the ${redrive.lane} lane` };
      if (!line.publisher) return { fault: line.fault ?? "its publisher is closed" };
      return use(line, redrive);
    },
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

const WELL = { reachable: true, detail: "not probed yet" };

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

function enterSlot(slots: Bulkhead, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (slots.tryEnter()) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const waiter = slots.queue(() => {
      signal.removeEventListener("abort", abandon);
      resolve();
    });
    const abandon = () => {
      if (waiter?.leave()) reject(signal.reason);
    };
    signal.addEventListener("abort", abandon, { once: true });
  });
}
