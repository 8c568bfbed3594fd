import type { Publisher } from "@/lib/brokers/port";
import { DomainError } from "@/lib/core/problem";
import type { TokenBucket } from "@/lib/lane/port";
import { createTokenFeeder, type TokenFeeder } from "@/lib/lane/token-feeder";
import type { SliceTarget, TargetDirectory, TargetHealth } from "@/lib/operations/slice-deps";
import type { Clock } from "@/lib/platform/clock";
import type { Log } from "@/lib/platform/log";
import { Bulkhead } from "@/lib/retry/bulkhead";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { POLICY_PRESETS, type Policy, parsePolicy } from "@/lib/retry/policy";
import { createTargetState, type TargetSnapshot, type TargetState } from "@/lib/retry/target";
import type { Db } from "@/lib/store/db";
import { readTargets, type TargetRow } from "@/lib/store/read/targets";
import type { RedriveRow } from "@/lib/store/write/redrive";
import { bucketSpec } from "./bucket-spec";

/** A changed rate, breaker order or source configuration is in force this soon. */
const REFRESH_MS = 1_000;

/** A reachability probe is good for this long: the dry run of a slice costs no connection of its own. */
const PROBE_FRESH_MS = 2_000;
const PROBE_TIMEOUT_MS = 3_000;

export type TargetDirectoryOptions = {
  db: Db;
  bucket: TokenBucket;
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

/** Everything this worker shares between sends to one target under one policy. */
type Held = {
  target: SliceTarget;
  state: TargetState;
  policyKey: string;
  slots: Bulkhead;
  resetAtMs: number | null;
};

type Line = { row: TargetRow; publisher: Publisher | null; fault: string | null; feeder: TokenFeeder; health: Health };
type Health = { checkedMs: number; result: Promise<{ reachable: boolean; detail: string }>; badSinceMs: number | null };

export type OpenTargetDirectory = TargetDirectory & {
  /** Live engine state by target name, for the heartbeat. */
  snapshots(): Record<string, TargetSnapshot>;
  /** Takes due self-healing steps. */
  heal(): void;
  close(): Promise<void>;
};

export function createTargetDirectory(options: TargetDirectoryOptions): OpenTargetDirectory {
  const { clock, log } = options;
  const lines = new Map<string, Line>();
  const held = new Map<string, Held>();
  let refreshedMs = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;

  async function refresh(): Promise<void> {
    const rows = await readTargets(options.db);
    const seen = new Set(rows.map((row) => row.id));
    for (const row of rows) update(row);
    for (const [id, line] of lines) {
      if (seen.has(id)) continue;
      lines.delete(id);
      void closeQuietly(line.publisher, log);
    }
    refreshedMs = clock.nowMs();
  }

  function update(row: TargetRow): void {
    const known = lines.get(row.id);
    if (known && known.row.revision === row.revision) return;
    if (known) void closeQuietly(known.publisher, log);
    lines.set(row.id, openLine(row, known));
    for (const [key, part] of held) if (part.target.row.id === row.id) applyRow(key, part, row);
  }

  function openLine(row: TargetRow, known: Line | undefined): Line {
    const opened = tryOpen(row);
    const line: Line = {
      row,
      ...opened,
      health: { checkedMs: Number.NEGATIVE_INFINITY, result: Promise.resolve(WELL), badSinceMs: null },
      feeder:
        known?.feeder ??
        createTokenFeeder({
          bucket: options.bucket,
          clock,
          spec: () => bucketSpec(`target:${row.id}`, rateOf(row.id), lines.get(row.id)?.row.burst ?? null),
          onError: (error) => log.warn({ target: row.name, err: error }, "token bucket does not answer"),
        }),
    };
    return line;
  }

  /** The target's rate, lowered while its engine heals. null = unlimited. */
  function rateOf(id: string): number | null {
    const row = lines.get(id)?.row;
    if (!row || row.ratePerSecond === null) return null;
    const factors = [...held.values()]
      .filter((part) => part.target.row.id === id)
      .map((part) => part.state.snapshot().healing?.rateFactor ?? 1);
    return row.ratePerSecond * Math.min(1, ...factors);
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
      held.delete(key);
      return;
    }
    part.target.row = row;
    part.target.publisher = line.publisher;
    part.state.force(row.breakerForce ?? "auto");
    if (row.resetAtMs !== null && row.resetAtMs !== part.resetAtMs) part.state.reset();
    part.resetAtMs = row.resetAtMs;
  }

  function hold(line: Line, policy: Policy, policyKey: string): Held {
    const { row } = line;
    const state = createTargetState(policy, clock, {
      onBreakerChange: (change) => log.warn({ target: row.name, ...change }, "breaker"),
    });
    if (row.breakerForce) state.force(row.breakerForce);
    const slots = new Bulkhead({ permits: row.bulkhead, queueMax: Number.POSITIVE_INFINITY });
    const target: SliceTarget = {
      row,
      publisher: line.publisher!,
      policy,
      state,
      enter: async (signal) => {
        await enterSlot(slots, signal);
        try {
          await lines.get(row.id)?.feeder.take(signal);
        } catch (error) {
          slots.release();
          throw error;
        }
        return () => slots.release();
      },
      takeToken: async (signal) => lines.get(row.id)?.feeder.take(signal),
      health: () => healthOf(row.id, state, target),
    };
    return { target, state, policyKey, slots, resetAtMs: row.resetAtMs };
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

  return {
    find: async (sourceId, redrive) => {
      if (clock.nowMs() - refreshedMs >= REFRESH_MS) {
        refreshing ??= refresh().finally(() => {
          refreshing = null;
        });
        await refreshing;
      }
      const line = [...lines.values()].find(({ row }) => row.sourceId === sourceId && row.lane === redrive.lane);
      if (!line) return { fault: `the source has no target on the ${redrive.lane} lane` };
      if (!line.publisher) return { fault: line.fault ?? "its publisher is closed" };
      const { policy, key } = policyOf(line.row, redrive);
      const heldKey = `${line.row.id} ${key}`;
      const known = held.get(heldKey) ?? hold(line, policy, key);
      held.set(heldKey, known);
      return known.target;
    },
    snapshots: () =>
      Object.fromEntries([...held.values()].map(({ target, state }) => [target.row.name, state.snapshot()])),
    heal: () => {
      for (const { target, state } of held.values()) {
        const step = state.heal();
        if (step) options.onHealing(target.row.name, step);
      }
    },
    close: async () => {
      await Promise.all([...lines.values()].map((line) => closeQuietly(line.publisher, log)));
    },
  };
}

const WELL = { reachable: true, detail: "not probed yet" };

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

/** The policy a redrive started with, within the target's own bulkhead. */
function policyOf(row: TargetRow, redrive: RedriveRow): { policy: Policy; key: string } {
  const stored = redrive.policies[row.policyName] as { version: number; body: unknown } | undefined;
  const preset = POLICY_PRESETS[row.policyName as keyof typeof POLICY_PRESETS] ?? POLICY_PRESETS["slow-lane"];
  const version = stored?.version ?? 0;
  const key = `${row.policyName}@${version} ${row.bulkhead}`;
  const known = policies.get(key);
  if (known) return { policy: known, key };
  const base = stored ? parsePolicy(stored.body) : preset;
  const policy = parsePolicy({ ...base, bulkhead: { permits: row.bulkhead, queueMax: row.bulkhead } });
  policies.set(key, policy);
  return { policy, key };
}

/** By identity the engine remembers that it asserted a policy: one object for each. */
const policies = new Map<string, Policy>();
