import type { Publisher } from "@/lib/brokers/port";
import type { PayloadChecker } from "@/lib/redriving/check-payload";
import type { Deps } from "@/lib/redriving/deps";
import type { TargetHealth } from "@/lib/redriving/target-health";
import type { Policy } from "@/lib/retry/policy";
import type { TargetState } from "@/lib/retry/target";
import type { TargetRow } from "@/lib/store/read/targets";
import type { ClaimedItem, ItemHold } from "@/lib/store/write/claim-items";
import type { AttemptClose, FinishedItem } from "@/lib/store/write/finish-items";
import type { AttemptIntent } from "@/lib/store/write/open-attempts";
import type { RedriveRow } from "@/lib/store/write/redrive";

/** Sources whose target takes no send now because of its breaker. */
export type HeldSources = {
  sourceIds: string[];
  /** When to look again: the shortest of their waits. */
  waitMs: number;
};

/** One target as this worker holds it: shared by all slices that send to it. */
export type SliceTarget = {
  readonly row: TargetRow;
  readonly publisher: Publisher;
  /** The version that the redrive has frozen: attempts, timeouts, backoff and deadline of each of its operations. */
  policy: Policy;
  policyVersion: { name: string; version: number };
  /** Shared by all redrives, and under the policy in force: breaker, budget, latency, bulkhead, healing. */
  state: TargetState;
  /** Waits for a token of the target's rate. */
  takeToken(signal: AbortSignal): Promise<void>;
  health(): Promise<TargetHealth>;
};

/** A target that cannot be sent to, and why: nothing configured on this lane, or a configuration that cannot be used. */
export type NoTarget = { fault: string };

export interface TargetDirectory {
  find(sourceId: string, redrive: RedriveRow): Promise<SliceTarget | NoTarget>;
  /** Of all targets of the redrive's lane, by what this worker has seen of them. */
  heldSources(redrive: RedriveRow): Promise<HeldSources>;
}

/** A finished item with the attempts it closes. */
export type Finish = FinishedItem & { closes: AttemptClose[] };

/** One redrive as this worker works on it: shared by all its slices here. */
export type RedriveSession = {
  /** Its row, a moment old. */
  redrive(): RedriveRow;
  /** Aborts when the redrive no longer runs, or runs on another lane. */
  stopped: AbortSignal;
  /** A token of the redrive's own rate; passes at once when it has none. */
  takeToken(signal: AbortSignal): Promise<void>;
  /** Resolves when committed. False: the fence was lost, nothing was changed. */
  finish(finish: Finish): Promise<boolean>;
  release(): void;
};

/** The claims that this process works on, to find those in the store that it does not know of. */
export type ClaimsInHand = {
  add(items: readonly ClaimedItem[]): void;
  remove(items: readonly ClaimedItem[]): void;
  /** A claim or a release has failed: the store may hold a claim of ours that nobody works on. */
  doubt(): void;
  /** Was there a doubt, and none in the last `forMs`? */
  inDoubt(forMs: number): boolean;
  settle(): void;
  list(): ClaimedItem[];
};

export type SliceDeps = Deps & {
  workerId: string;
  claims: ClaimsInHand;
  random: () => number;
  targets: TargetDirectory;
  checkPayloads: PayloadChecker;
  /** null = it does not run. */
  openSession(redriveId: string): Promise<RedriveSession | null>;
  /** Records an intent, together with those of other items. False = it may not be sent (any more). */
  openAttempt(intent: AttemptIntent): Promise<boolean>;
  /** Records the end of an attempt that will be repeated, and for how long its target asked to leave the item alone. */
  closeAttempt(close: AttemptClose, hold: ItemHold | null): Promise<void>;
  /** Aborts when the worker was told to stop: nothing new is claimed, what waits is handed back. */
  stopping: AbortSignal;
};
