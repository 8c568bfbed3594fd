import type { Db } from "@/lib/platform/database/db";
import type { RedriveRow } from "@/lib/redrive/life/redrive.write";
import { policiesInForce, policyAmong, type UsedPolicy } from "@/lib/redrive/targets/policies";
import { TargetLine, type TargetLineOptions } from "@/lib/redrive/targets/target-line";
import { PolicyError } from "@/lib/retry/policy-error";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** The database's clock as this process knows it is at most this wrong. */
const CLOCKS_DIFFER_MS = 100;

/** The targets of the store, each as one line of this worker, read again when the last reading is old. */
export class TargetRegistry {
  readonly #lines = new Map<string, TargetLine>();
  readonly #options: TargetLineOptions & { db: Db };
  #refreshedMs = Number.NEGATIVE_INFINITY;
  /** When the last reading began, by the database's clock. */
  #readAtMs = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | null = null;

  constructor(options: TargetLineOptions & { db: Db }) {
    this.#options = options;
  }

  all(): TargetLine[] {
    return [...this.#lines.values()];
  }

  byId(id: string): TargetLine | undefined {
    return this.#lines.get(id);
  }

  /** Reads the targets again if the last reading is old; calls that come meanwhile wait for the same reading. */
  async refreshed(): Promise<void> {
    if (this.#options.clock.nowMs() - this.#refreshedMs < this.#options.paces.targetsMs) return;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
  }

  /** Reads the targets anew: a reading under way may have begun before the change that the caller expects. */
  async reread(): Promise<void> {
    await this.#refreshing;
    this.#refreshedMs = Number.NEGATIVE_INFINITY;
    await this.refreshed();
  }

  /** What was changed before a redrive began holds for each of its sends: a target may have another address since the last reading. */
  async refreshedFor({ beganAtMs }: RedriveRow): Promise<void> {
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
    else this.#lines.set(row.id, new TargetLine(row, inForce, this.#options));
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
