import type { Publisher } from "@/lib/brokers/port";
import { type Clock, within } from "@/lib/platform/clock";
import type { Breaker } from "@/lib/retry/breaker/breaker";

/** Whether a target takes sends now. */
export type TargetHealth = {
  reachable: boolean;
  detail: string;
  /** For how long it has not been reachable; 0 = it is. */
  unreachableMs: number;
  /** For how long a person has held its breaker open; 0 = nobody does. */
  forcedOpenMs: number;
  /** Until its breaker lets another send pass by itself; 0 = now. */
  breakerWaitMs: number;
};

/** A reachability probe is good for this long after its end: the dry run of a slice costs no connection of its own. */
const PROBE_FRESH_MS = 2_000;
const PROBE_TIMEOUT_MS = 3_000;
/** After this long without a probe nobody knows whether a target was away all the time. */
const HEALTH_KNOWN_MS = 30_000;

/** Why a target is not reached, and for how long. */
export type Away = { detail: string; forMs: number };

export type HealthProbe = {
  check(publisher: Publisher, breaker: Breaker | null): Promise<TargetHealth>;
  /** Probes unless the last result is fresh, and waits for nothing: `away` tells what was found. */
  checkInBackground(publisher: Publisher): void;
  /** The next check probes, however fresh the last result is. */
  discardResult(): void;
  /** A send did not reach it, in these words. */
  markUnreachable(detail: string): void;
  /** What the last check found, unless it is too old to count; null = not away. */
  away(): Away | null;
};

/** Probes one publisher, and remembers since when it was not reachable and since when a person holds its breaker open. */
export function createHealthProbe(clock: Clock): HealthProbe {
  let checkedMs = Number.NEGATIVE_INFINITY;
  let result: Promise<Probed> | null = null;
  let probing = false;
  let unreachableSinceMs: number | null = null;
  let lastDetail = "";
  let forcedSinceMs: number | null = null;
  // At least 1: this check has found it so.
  const sinceMs = (fromMs: number | null) => (fromMs === null ? 0 : Math.max(1, clock.nowMs() - fromMs));
  const probed = async (publisher: Publisher): Promise<Probed> => {
    const nowMs = clock.nowMs();
    if (nowMs - checkedMs > HEALTH_KNOWN_MS) unreachableSinceMs = null;
    if (result === null || (!probing && nowMs - checkedMs >= PROBE_FRESH_MS)) {
      checkedMs = nowMs;
      probing = true;
      const own = probe(publisher, clock).finally(() => {
        if (result !== own) return;
        probing = false;
        checkedMs = clock.nowMs();
      });
      result = own;
    }
    const found = await result;
    lastDetail = found.detail;
    unreachableSinceMs = found.reachable ? null : (unreachableSinceMs ?? nowMs);
    return found;
  };
  const check: HealthProbe["check"] = async (publisher, breaker) => {
    const nowMs = clock.nowMs();
    const { reachable, detail } = await probed(publisher);
    const breakerWaitMs = breaker === null ? 0 : breaker.waitMs(nowMs);
    forcedSinceMs = breakerWaitMs === null ? (forcedSinceMs ?? nowMs) : null;
    return {
      reachable,
      detail,
      unreachableMs: sinceMs(unreachableSinceMs),
      forcedOpenMs: sinceMs(forcedSinceMs),
      breakerWaitMs: breakerWaitMs ?? 0,
    };
  };
  const away = () =>
    unreachableSinceMs === null || clock.nowMs() - checkedMs > HEALTH_KNOWN_MS
      ? null
      : { detail: lastDetail, forMs: sinceMs(unreachableSinceMs) };
  const markUnreachable = (detail: string) => {
    checkedMs = clock.nowMs();
    unreachableSinceMs ??= checkedMs;
    lastDetail = detail;
    probing = false;
    result = Promise.resolve({ reachable: false, detail });
  };
  const discardResult = () => {
    result = null;
  };
  return { check, checkInBackground: (publisher) => void probed(publisher), discardResult, markUnreachable, away };
}

type Probed = { reachable: boolean; detail: string };

async function probe(publisher: Publisher, clock: Clock): Promise<Probed> {
  try {
    return await within(clock, PROBE_TIMEOUT_MS, (signal) => publisher.probe(signal));
  } catch (error) {
    return { reachable: false, detail: error instanceof Error ? error.message : String(error) };
  }
}
