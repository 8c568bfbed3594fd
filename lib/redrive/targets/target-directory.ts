import type { Db } from "@/lib/platform/database/db";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { BREAKER_WAIT_MS_MAX } from "@/lib/redrive/run/examine";
import { policiesInForce, policyAmong, type UsedPolicy } from "@/lib/redrive/targets/policies";
import type { HeldSources, NoTarget, SliceTarget } from "@/lib/redrive/targets/target";
import { type TargetLineOptions, type TargetReport, TargetRuntime } from "@/lib/redrive/targets/target-runtime";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { PolicyError } from "@/lib/retry/policy-error";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** A target that cannot be reached is looked at again after this long. */
const AWAY_LOOK_MS = 2_000;

/** The database's clock as this process knows it is at most this wrong. */
const CLOCKS_DIFFER_MS = 100;

export type TargetDirectoryOptions = TargetLineOptions & {
  db: Db;
  /** Is called with every self-healing step, to be audited. */
  onHealing: (target: string, step: HealingStep) => void;
};

/** The targets of the store, each as one line of this worker, read again when the last reading is old. */
export class TargetDirectory {
  readonly #lines = new Map<string, TargetRuntime>();
  readonly #options: TargetDirectoryOptions;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  /** When the last reading began, by the database's clock. */
  #readAtMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;

  constructor(options: TargetDirectoryOptions) {
    this.#options = options;
  }

  async find(sourceId: string, redrive: RedriveRow): Promise<SliceTarget | NoTarget> {
    await this.#refreshedFor(redrive);
    let line = this.#lineOf(sourceId, redrive);
    const isKnown = this.#all().some(({ row }) => row.sourceId === sourceId);
    // A source or a policy that was made or changed since the last reading is looked up before its events are sent or refused.
    if (!line || !isKnown || line.fault !== null || isOlder(line.inForce, redrive)) {
      await this.reread();
      line = this.#lineOf(sourceId, redrive);
    }
    if (!line) {
      const fault = redrive.targetId
        ? "the target was removed"
        : `the source has no target on the ${redrive.lane} lane`;
      return { fault };
    }
    return line.fault === null ? this.#use(line, redrive, sourceId) : { fault: line.fault };
  }

  /** The target that stands in for this one while it takes nothing; null = its fallback names none that can be sent to. */
  standIn({ row }: SliceTarget, redrive: RedriveRow): SliceTarget | null {
    const line = this.#standInOf(row);
    const target = line && this.#use(line, redrive, line.row.sourceId);
    return target && !("fault" in target) ? target : null;
  }

  /** Of all targets of the redrive's lane, by what this worker has seen of them. */
  async heldSources(redrive: RedriveRow): Promise<HeldSources> {
    // While all items are held no other code reads the targets, and a person may have closed a breaker.
    await this.#refreshedFor(redrive);
    const found: HeldSources = { sourceIds: [], waitMs: Number.POSITIVE_INFINITY };
    for (const line of this.#all()) {
      const { row } = line;
      if (!isTargetOf(redrive, row)) continue;
      const waitMs = row.stopped ? Number.POSITIVE_INFINITY : this.#holdMs(line);
      if (waitMs === 0) continue;
      // A redrive that names its target sends the events of all sources there.
      const held = redrive.targetId === null ? [row] : this.#all().map((each) => each.row);
      found.sourceIds.push(...new Set(held.map(({ sourceId }) => sourceId)));
      found.waitMs = Math.min(found.waitMs, waitMs);
    }
    return found;
  }

  /** Reads the targets anew: a reading under way may have begun before the change that the caller expects. */
  async reread(): Promise<void> {
    await this.#refreshing;
    this.#refreshedMs = Number.NEGATIVE_INFINITY;
    await this.refreshed();
  }

  /** Reads the targets again if the last reading is old; calls that come meanwhile wait for the same reading. */
  async refreshed(): Promise<void> {
    if (this.#options.clock.nowMs() - this.#refreshedMs < this.#options.paces.targetsMs) return;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
  }

  /** By target name. */
  reports(): Record<string, TargetReport> {
    const used = this.#all().filter((line) => line.used);
    return Object.fromEntries(used.map((line) => [line.row.name, line.report()] as const));
  }

  heal(): void {
    for (const { row, state } of this.#all()) {
      const step = state.heal();
      if (step) this.#options.onHealing(row.name, step);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all().map((line) => line.close()));
  }

  #all(): TargetRuntime[] {
    return [...this.#lines.values()];
  }

  #lineOf(sourceId: string, { targetId, lane }: RedriveRow): TargetRuntime | undefined {
    if (targetId !== null) return this.#lines.get(targetId);
    return this.#all().find(({ row }) => row.sourceId === sourceId && row.lane === lane);
  }

  /** The target for sends of events of one source in one redrive, or why it cannot take them. */
  #use(line: TargetRuntime, redrive: RedriveRow, sourceId: string): SliceTarget | NoTarget {
    const { name, kind } = line.row;
    // Each source has its two lanes: any of its targets knows its kind.
    const own = this.#all().find(({ row }) => row.sourceId === sourceId)?.row;
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
  #standInOf({ id, sourceId, fallback }: TargetRow): TargetRuntime | undefined {
    if (fallback === null || fallback.kind === "defer") return undefined;
    const line = this.#all().find(({ row }) =>
      fallback.kind === "target" ? row.name === fallback.target : row.sourceId === sourceId && row.lane === "slow",
    );
    return line && line.row.id !== id && line.fault === null ? line : undefined;
  }

  /** How long the sends of a target wait for its breaker, or until it is reached; 0 = they do not. */
  #holdMs(line: TargetRuntime): number {
    const other = this.#standInOf(line.row);
    // What finds no target may go to the one that stands in.
    const awayMs = other === undefined && line.isAway() ? AWAY_LOOK_MS : 0;
    if (other && !other.row.stopped && other.breakerWaitMs() === 0) return awayMs;
    const breakerMs = line.breakerWaitMs();
    // Items of a breaker that a person holds open, or that waits for too long, are examined and refused by name.
    return Math.max(awayMs, breakerMs === null || breakerMs > BREAKER_WAIT_MS_MAX ? 0 : breakerMs);
  }

  /** What was changed before a redrive began holds for each of its sends: a target may have another address since the last reading. */
  async #refreshedFor({ beganAtMs }: RedriveRow): Promise<void> {
    const mayBeOlder = beganAtMs !== null && this.#readAtMs <= beganAtMs + CLOCKS_DIFFER_MS;
    await (mayBeOlder ? this.reread() : this.refreshed());
  }

  async #refresh(): Promise<void> {
    const { db, clock } = this.#options;
    const beganAtMs = clock.wallMs();
    const [rows, policies] = await Promise.all([readTargets(db), policiesInForce(db)]);
    for (const row of rows) this.#update(row, policies);
    const stored = new Set(rows.map(({ id }) => id));
    for (const [id, line] of this.#lines) {
      if (stored.has(id)) continue;
      this.#lines.delete(id);
      line.remove();
    }
    this.#refreshedMs = clock.nowMs();
    this.#readAtMs = beganAtMs;
  }

  #update(row: TargetRow, policies: Record<string, unknown>): void {
    const known = this.#lines.get(row.id);
    const inForce = this.#usablePolicy(row, policies) ?? known?.inForce ?? policyAmong({}, "slow-lane");
    if (known) known.adopt(row, inForce);
    else this.#lines.set(row.id, new TargetRuntime(row, inForce, this.#options));
  }

  /** null = the stored version cannot be used: the settings before it stay. */
  #usablePolicy(row: TargetRow, policies: Record<string, unknown>): UsedPolicy | null {
    try {
      return policyAmong(policies, row.policyName);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      this.#options.log.warn({ target: row.name, err: error }, "the target's policy cannot be used");
      return null;
    }
  }
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
