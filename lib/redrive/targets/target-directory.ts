import type { Publisher } from "@/lib/brokers/port";
import type { BucketState, GuardedBucket } from "@/lib/lane/bucket-fallback";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { bucketSpec, evenBucketSpec } from "@/lib/redrive/pace/rate-bucket";
import { createTokenFeeder, type TokenFeeder } from "@/lib/redrive/pace/token-feeder";
import { BREAKER_WAIT_MS_MAX } from "@/lib/redrive/run/examine";
import { policiesInForce, policyAmong, type UsedPolicy } from "@/lib/redrive/targets/policies";
import type { HeldSources, NoTarget, SliceTarget, TargetDirectory } from "@/lib/redrive/targets/target";
import { type Away, createHealthProbe, type HealthProbe } from "@/lib/redrive/targets/target-health";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { PolicyError } from "@/lib/retry/policy-error";
import { createTargetState, type TargetSnapshot, type TargetState } from "@/lib/retry/target";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** A changed rate, policy, breaker order or source configuration is in force this soon. */
export const REFRESH_MS = 1_000;

/** The database's clock as this process knows it is at most this wrong. */
const CLOCKS_DIFFER_MS = 100;

/** All probes of a half-open breaker are under way: their answer is looked for this often. */
const PROBING_MS = 500;

/** A target that cannot be reached is looked at again after this long. */
const AWAY_LOOK_MS = 2_000;

export type TargetDirectoryOptions = {
  db: Db;
  bucket: GuardedBucket;
  clock: Clock;
  log: Log;
  /**
   * Makes a publisher; null when it has no destination. Throws DomainError when the configuration
   * cannot be used here (a missing env:NAME).
   */
  openPublisher: (target: TargetRow) => Publisher | null;
  /** Is called with every self-healing step, to be audited. */
  onHealing: (target: string, step: HealingStep) => void;
};

/**
 * One target in this worker. Breaker, retry budget, latency, bulkhead and rate are one for all sends to it, whichever
 * redrive they belong to and whichever version of a policy that redrive has frozen: their settings are those in force.
 */
type Line = {
  row: TargetRow;
  /** The newest version of the target's policy: breaker, budget and healing follow it. */
  inForce: UsedPolicy;
  /** The last one that could be opened; sends under way when the configuration changes go on with the new one. */
  publisher: Publisher | null;
  /** Why nothing can be sent; null = sends are possible. */
  fault: string | null;
  state: TargetState;
  /** Ends the waits for it while a person has stopped it. */
  stop: AbortController;
  feeder: TokenFeeder;
  health: HealthProbe;
  /** Something was sent to it since this worker started. */
  used: boolean;
};

/** The engine's state at one target, for the heartbeat. */
export type TargetReport = {
  snapshot: TargetSnapshot;
  /** It cannot be reached; null = it can, as far as this worker knows. */
  away: Away | null;
  policy: { name: string; version: number };
  bucket: BucketState;
};

export type OpenTargetDirectory = TargetDirectory & {
  /** By target name. */
  reports(): Record<string, TargetReport>;
  /** Takes due self-healing steps. */
  heal(): void;
  /** While this worker holds claims, an operator's orders must arrive between two of them, too. */
  refreshIf(working: boolean): Promise<void>;
  close(): Promise<void>;
};

export function createTargetDirectory(options: TargetDirectoryOptions): OpenTargetDirectory {
  const { clock, log } = options;
  const lines = new Map<string, Line>();
  let refreshedMs = Number.NEGATIVE_INFINITY;
  /** When the last reading began, by the database's clock. */
  let readAtMs = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | null = null;

  async function refresh(): Promise<void> {
    const beganAtMs = clock.wallMs();
    const [rows, policies] = await Promise.all([readTargets(options.db), policiesInForce(options.db)]);
    for (const row of rows) update(row, policies);
    for (const [id, line] of lines) {
      if (rows.some((row) => row.id === id)) continue;
      lines.delete(id);
      void closeQuietly(line.publisher, log);
    }
    refreshedMs = clock.nowMs();
    readAtMs = beganAtMs;
  }

  /** Reads the targets again if the last reading is old; calls that come meanwhile wait for the same reading. */
  async function refreshed(): Promise<void> {
    if (clock.nowMs() - refreshedMs < REFRESH_MS) return;
    refreshing ??= refresh().finally(() => {
      refreshing = null;
    });
    await refreshing;
  }

  /** Reads the targets anew: a reading under way may have begun before the change that the caller expects. */
  async function reread(): Promise<void> {
    await refreshing;
    refreshedMs = Number.NEGATIVE_INFINITY;
    await refreshed();
  }

  /** What was changed before a redrive began holds for each of its sends: a target may have another address since the last reading. */
  async function refreshedFor({ beganAtMs }: RedriveRow): Promise<void> {
    await (beganAtMs !== null && readAtMs <= beganAtMs + CLOCKS_DIFFER_MS ? reread() : refreshed());
  }

  function update(row: TargetRow, policies: Record<string, unknown>): void {
    const known = lines.get(row.id);
    const inForce = usable(row, policies) ?? known?.inForce ?? policyAmong({}, "slow-lane");
    if (!known) return void lines.set(row.id, openLine(row, inForce));
    if (inForce.policy !== known.inForce.policy) known.state.adopt(inForce.policy);
    known.inForce = inForce;
    setStopped(known, row);
    if (known.row.revision === row.revision) return;
    const { publisher, fault } = tryOpen(row);
    void closeQuietly(known.publisher, log);
    const wasReset = row.resetAtMs !== null && row.resetAtMs !== known.row.resetAtMs;
    Object.assign(known, { row, fault, publisher: publisher ?? known.publisher, health: createHealthProbe(clock) });
    known.state.bulkhead!.resize(row.bulkhead);
    known.state.force(row.breakerForce ?? "auto");
    if (wasReset) known.state.reset();
  }

  /** null = the stored version cannot be used: the settings before it stay. */
  function usable(row: TargetRow, policies: Record<string, unknown>): UsedPolicy | null {
    try {
      return policyAmong(policies, row.policyName);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      log.warn({ target: row.name, err: error }, "the target's policy cannot be used");
      return null;
    }
  }

  function openLine(row: TargetRow, inForce: UsedPolicy): Line {
    const state = createTargetState(inForce.policy, clock, {
      bulkhead: { permits: row.bulkhead, queueMax: Number.POSITIVE_INFINITY },
      onBreakerChange: (change) => log.warn({ target: row.name, ...change }, "breaker"),
    });
    if (row.breakerForce) state.force(row.breakerForce);
    const stop = new AbortController();
    const line: Line = {
      ...{ row, inForce, state, stop, ...tryOpen(row), health: createHealthProbe(clock), used: false },
      feeder: createTokenFeeder({
        bucket: options.bucket,
        clock,
        spec: () =>
          line.row.noBursts
            ? evenBucketSpec(bucketKey(row.id), rateOf(line))
            : bucketSpec(bucketKey(row.id), rateOf(line), line.row.burst),
        onError: (error) =>
          log.warn({ target: row.name, err: error }, "token bucket does not answer, sends wait for it"),
      }),
    };
    setStopped(line, row);
    return line;
  }

  function tryOpen(row: TargetRow): Pick<Line, "publisher" | "fault"> {
    try {
      const publisher = options.openPublisher(row);
      return { publisher, fault: publisher ? null : noDestination(row) };
    } catch (error) {
      log.warn({ target: row.name, err: error }, "target cannot be opened");
      const why = error instanceof DomainError ? error.message : "its configuration cannot be used";
      return { publisher: null, fault: `${row.name} cannot be opened: ${why}` };
    }
  }

  function lineOf(sourceId: string, { targetId, lane }: RedriveRow): Line | undefined {
    if (targetId !== null) return lines.get(targetId);
    return [...lines.values()].find(({ row }) => row.sourceId === sourceId && row.lane === lane);
  }

  /** The target for sends of one redrive: all but the redrive's own policy is read live from the line. */
  function use(line: Line, redrive: RedriveRow, sourceId: string): SliceTarget | NoTarget {
    // Each source has its two lanes: any of its targets knows its kind.
    const own = [...lines.values()].find(({ row }) => row.sourceId === sourceId)?.row;
    if (own && own.kind !== line.row.kind) {
      return {
        fault: `${line.row.name} is a target of kind ${line.row.kind}, and ${own.source} is of kind ${own.kind}`,
      };
    }
    try {
      const { name, version, policy } = policyAmong(redrive.policies, line.row.policyName);
      line.used = true;
      return {
        get row() {
          return line.row;
        },
        get publisher() {
          return line.publisher!;
        },
        policy,
        policyVersion: { name, version },
        state: line.state,
        get stopped() {
          return line.stop.signal;
        },
        takeToken: (signal) => line.feeder.take(signal),
        missed: (detail) => line.health.missed(detail),
        reachedNow: async () => {
          line.health.doubt();
          return (await line.health.look(line.publisher!, line.state.breaker)).reachable;
        },
        health: async () =>
          lines.has(line.row.id) ? line.health.look(line.publisher!, line.state.breaker) : { ...REMOVED },
      };
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      return { fault: `${line.row.name} cannot be sent to: ${error.message}` };
    }
  }

  async function find(sourceId: string, redrive: RedriveRow): Promise<SliceTarget | NoTarget> {
    await refreshedFor(redrive);
    let line = lineOf(sourceId, redrive);
    const isKnown = [...lines.values()].some(({ row }) => row.sourceId === sourceId);
    // A source or a policy that was made or changed since the last reading is looked up before its events are sent or refused.
    if (!line || !isKnown || line.fault !== null || isOlder(line.inForce, redrive)) {
      await reread();
      line = lineOf(sourceId, redrive);
    }
    if (!line) {
      return { fault: redrive.targetId ? REMOVED.detail : `the source has no target on the ${redrive.lane} lane` };
    }
    return line.fault === null ? use(line, redrive, sourceId) : { fault: line.fault };
  }

  function standInLine({ row }: Pick<Line, "row">): Line | undefined {
    const { fallback } = row;
    if (fallback === null || fallback.kind === "defer") return undefined;
    const line = [...lines.values()].find((other) =>
      fallback.kind === "target"
        ? other.row.name === fallback.target
        : other.row.sourceId === row.sourceId && other.row.lane === "slow",
    );
    return line && line.row.id !== row.id && line.fault === null ? line : undefined;
  }

  function standIn({ row }: SliceTarget, redrive: RedriveRow): SliceTarget | null {
    const line = standInLine({ row });
    const target = line && use(line, redrive, line.row.sourceId);
    return target && !("fault" in target) ? target : null;
  }

  async function heldSources(redrive: RedriveRow): Promise<HeldSources> {
    // While all items are held no other code reads the targets, and a person may have closed a breaker.
    await refreshedFor(redrive);
    const found: HeldSources = { sourceIds: [], waitMs: Number.POSITIVE_INFINITY };
    for (const line of lines.values()) {
      const { row } = line;
      if (!isTargetOf(redrive, row)) continue;
      const waitMs = row.stopped ? Number.POSITIVE_INFINITY : Math.max(breakerHoldMs(line), awayHoldMs(line));
      if (waitMs === 0) continue;
      // A redrive that names its target sends the events of all sources there.
      const held = redrive.targetId === null ? [row] : [...lines.values()].map((each) => each.row);
      found.sourceIds.push(...new Set(held.map(({ sourceId }) => sourceId)));
      found.waitMs = Math.min(found.waitMs, waitMs);
    }
    return found;
  }

  /** How long the sends of a target wait for its breaker; 0 = they do not. */
  function breakerHoldMs(line: Line): number {
    const other = standInLine(line);
    // Its sends go to the target that stands in.
    if (other && !other.row.stopped && breakerWaitMs(other.state, clock) === 0) return 0;
    const waitMs = breakerWaitMs(line.state, clock);
    // Items of a breaker that a person holds open, or that waits for too long, are examined and refused by name.
    return waitMs === null || waitMs > BREAKER_WAIT_MS_MAX ? 0 : waitMs;
  }

  /**
   * How long the sends of a target wait because it was not reached; 0 = it is, or another target may stand in. It looks again
   * beside: the events of other targets must not wait for a probe of this one.
   */
  function awayHoldMs(line: Line): number {
    if (line.health.away() === null || line.publisher === null || standInLine(line)) return 0;
    line.health.glance(line.publisher);
    return AWAY_LOOK_MS;
  }

  function reportOf({ row, inForce, state, health }: Line): TargetReport {
    const { name, version } = inForce;
    const away = health.away();
    return {
      snapshot: state.snapshot(),
      away,
      policy: { name, version },
      bucket: options.bucket.state(bucketKey(row.id)),
    };
  }

  return {
    find,
    standIn,
    heldSources,
    reread,
    reports: () =>
      Object.fromEntries(
        [...lines.values()].filter(({ used }) => used).map((line) => [line.row.name, reportOf(line)] as const),
      ),
    heal: () => {
      for (const { row, state } of lines.values()) {
        const step = state.heal();
        if (step) options.onHealing(row.name, step);
      }
    },
    refreshIf: async (working) => {
      if (working) await refreshed();
    },
    close: async () => {
      await Promise.all([...lines.values()].map((line) => closeQuietly(line.publisher, log)));
    },
  };
}

/** A stop counts at once, and does not wait for another revision of the target. */
function setStopped(line: Line, { stopped, resumedAtMs }: TargetRow): void {
  line.row = { ...line.row, stopped, resumedAtMs };
  if (stopped) line.stop.abort(new Error(`the sends to ${line.row.name} were stopped`));
  else if (line.stop.signal.aborted) line.stop = new AbortController();
}

/** The redrive sends the events of some source to this target. */
function isTargetOf({ targetId, lane }: RedriveRow, row: TargetRow): boolean {
  return targetId === null ? row.lane === lane : row.id === targetId;
}

const REMOVED = {
  reachable: false,
  detail: "the target was removed",
  unreachableMs: Number.POSITIVE_INFINITY,
  forcedOpenMs: 0,
  breakerWaitMs: 0,
};

function noDestination({ name, source, lane }: TargetRow): string {
  return lane === null ? `${name} has no destination` : `${source} has no destination on the ${lane} lane`;
}

/** Milliseconds until the breaker lets another send begin; null = until a person orders it. */
function breakerWaitMs({ breaker }: TargetState, clock: Clock): number | null {
  if (breaker === null) return 0;
  const { state, waitMs } = breaker.snapshot(clock.nowMs());
  return state === "half-open" && waitMs !== null ? Math.min(waitMs, PROBING_MS) : waitMs;
}

/** The redrive has frozen a newer version than the one that this worker has read. */
function isOlder({ name, version }: UsedPolicy, redrive: RedriveRow): boolean {
  const frozen = redrive.policies[name] as { version: number } | undefined;
  return frozen !== undefined && frozen.version > version;
}

/** The target's rate, lowered while its engine heals. null = unlimited. */
function rateOf({ row, state }: Pick<Line, "row" | "state">): number | null {
  return row.ratePerSecond === null ? null : row.ratePerSecond * (state.healer?.rateFactor ?? 1);
}

function bucketKey(targetId: string): string {
  return `target:${targetId}`;
}

/** Closes a publisher that is no longer used: a failure to close is logged. */
async function closeQuietly(publisher: Publisher | null, log: Log): Promise<void> {
  await publisher?.close().catch((error: unknown) => log.warn({ err: error }, "publisher did not close"));
}
