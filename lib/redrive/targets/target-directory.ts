import type { Db } from "@/lib/platform/database/db";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { BREAKER_WAIT_MS_MAX } from "@/lib/redrive/run/examine";
import type { UsedPolicy } from "@/lib/redrive/targets/policies";
import type { HeldSources, NoTarget, SliceTarget, TargetDirectory } from "@/lib/redrive/targets/target";
import type { TargetLine, TargetLineOptions, TargetReport } from "@/lib/redrive/targets/target-line";
import { TargetRegistry } from "@/lib/redrive/targets/target-registry";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { PolicyError } from "@/lib/retry/policy-error";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

/** A target that cannot be reached is looked at again after this long. */
const AWAY_LOOK_MS = 2_000;

export type TargetDirectoryOptions = TargetLineOptions & {
  db: Db;
  /** Is called with every self-healing step, to be audited. */
  onHealing: (target: string, step: HealingStep) => void;
};

export type OpenTargetDirectory = TargetDirectory & {
  /** By target name. */
  reports(): Record<string, TargetReport>;
  /** Takes due self-healing steps. */
  heal(): void;
  /** While this worker owns slices, an operator's orders must arrive between two pages, too. */
  refreshIf(working: boolean): Promise<void>;
  close(): Promise<void>;
};

export function createTargetDirectory(options: TargetDirectoryOptions): OpenTargetDirectory {
  const registry = new TargetRegistry(options);
  return {
    find: (sourceId, redrive) => find(registry, sourceId, redrive),
    standIn: ({ row }, redrive) => {
      const line = standInOf(registry, row);
      const target = line && use(registry, line, redrive, line.row.sourceId);
      return target && !("fault" in target) ? target : null;
    },
    heldSources: (redrive) => heldSources(registry, redrive),
    reread: () => registry.reread(),
    reports: () => {
      const used = registry.all().filter((line) => line.used);
      return Object.fromEntries(used.map((line) => [line.row.name, line.report()] as const));
    },
    heal: () => {
      for (const { row, state } of registry.all()) {
        const step = state.heal();
        if (step) options.onHealing(row.name, step);
      }
    },
    refreshIf: async (working) => {
      if (working) await registry.refreshed();
    },
    close: async () => {
      await Promise.all(registry.all().map((line) => line.close()));
    },
  };
}

async function find(registry: TargetRegistry, sourceId: string, redrive: RedriveRow): Promise<SliceTarget | NoTarget> {
  await registry.refreshedFor(redrive);
  let line = lineOf(registry, sourceId, redrive);
  const isKnown = registry.all().some(({ row }) => row.sourceId === sourceId);
  // A source or a policy that was made or changed since the last reading is looked up before its events are sent or refused.
  if (!line || !isKnown || line.fault !== null || isOlder(line.inForce, redrive)) {
    await registry.reread();
    line = lineOf(registry, sourceId, redrive);
  }
  if (!line) {
    const fault = redrive.targetId ? "the target was removed" : `the source has no target on the ${redrive.lane} lane`;
    return { fault };
  }
  return line.fault === null ? use(registry, line, redrive, sourceId) : { fault: line.fault };
}

function lineOf(registry: TargetRegistry, sourceId: string, { targetId, lane }: RedriveRow): TargetLine | undefined {
  if (targetId !== null) return registry.byId(targetId);
  return registry.all().find(({ row }) => row.sourceId === sourceId && row.lane === lane);
}

/** The target for sends of events of one source in one redrive, or why it cannot take them. */
function use(
  registry: TargetRegistry,
  line: TargetLine,
  redrive: RedriveRow,
  sourceId: string,
): SliceTarget | NoTarget {
  const { name, kind } = line.row;
  // Each source has its two lanes: any of its targets knows its kind.
  const own = registry.all().find(({ row }) => row.sourceId === sourceId)?.row;
  if (own && own.kind !== kind) {
    return { fault: `${name} is a target of kind ${kind}, and ${own.source} is of kind ${own.kind}` };
  }
  try {
    return line.forRedrive(redrive);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { fault: `${name} cannot be sent to: ${error.message}` };
  }
}

/** The target that a target's fallback names, unless nothing can be sent there. */
function standInOf(registry: TargetRegistry, { id, sourceId, fallback }: TargetRow): TargetLine | undefined {
  if (fallback === null || fallback.kind === "defer") return undefined;
  const line = registry
    .all()
    .find(({ row }) =>
      fallback.kind === "target" ? row.name === fallback.target : row.sourceId === sourceId && row.lane === "slow",
    );
  return line && line.row.id !== id && line.fault === null ? line : undefined;
}

async function heldSources(registry: TargetRegistry, redrive: RedriveRow): Promise<HeldSources> {
  // While all items are held no other code reads the targets, and a person may have closed a breaker.
  await registry.refreshedFor(redrive);
  const found: HeldSources = { sourceIds: [], waitMs: Number.POSITIVE_INFINITY };
  for (const line of registry.all()) {
    const { row } = line;
    if (!isTargetOf(redrive, row)) continue;
    const waitMs = row.stopped ? Number.POSITIVE_INFINITY : holdMs(registry, line);
    if (waitMs === 0) continue;
    // A redrive that names its target sends the events of all sources there.
    const held = redrive.targetId === null ? [row] : registry.all().map((each) => each.row);
    found.sourceIds.push(...new Set(held.map(({ sourceId }) => sourceId)));
    found.waitMs = Math.min(found.waitMs, waitMs);
  }
  return found;
}

/** How long the sends of a target wait for its breaker, or until it is reached; 0 = they do not. */
function holdMs(registry: TargetRegistry, line: TargetLine): number {
  const other = standInOf(registry, line.row);
  // What finds no target may go to the one that stands in.
  const awayMs = other === undefined && line.isAway() ? AWAY_LOOK_MS : 0;
  if (other && !other.row.stopped && other.breakerWaitMs() === 0) return awayMs;
  const breakerMs = line.breakerWaitMs();
  // Items of a breaker that a person holds open, or that waits for too long, are examined and refused by name.
  return Math.max(awayMs, breakerMs === null || breakerMs > BREAKER_WAIT_MS_MAX ? 0 : breakerMs);
}

/** The redrive sends the events of some source to this target. */
function isTargetOf({ targetId, lane }: RedriveRow, row: TargetRow): boolean {
  return targetId === null ? row.lane === lane : row.id === targetId;
}

/** The redrive has frozen a newer version than the one that this worker has read. */
function isOlder({ name, version }: UsedPolicy, redrive: RedriveRow): boolean {
  const frozen = redrive.policies[name] as { version: number } | undefined;
  return frozen !== undefined && frozen.version > version;
}
