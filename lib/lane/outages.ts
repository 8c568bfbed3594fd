import type { Clock } from "@/lib/platform/clock";

/** Pause between two checks whether an outage is over. */
const PROBE_MS = 1_000;

type OutageOptions = {
  clock: Clock;
  /** The first error of its kind since all was well. */
  onOutage(error: unknown): void;
  /** All is well again; `suppressed` errors were not passed on meanwhile. */
  onOver(suppressed: number): void;
  /** Resolves when the connection answers. */
  probe(): Promise<unknown>;
};

type Outages = {
  /** Takes every error as it comes. */
  report(error: unknown): void;
  stop(): void;
};

/** Reports each kind of error once per outage, since every reconnect and command fails in one. A probe finds its end. */
export function watchOutages(options: OutageOptions): Outages {
  const kinds = new Set<string>();
  let suppressed = 0;
  let stopped = false;
  let cancelProbe: () => void = () => {};

  const probeLater = () => {
    if (stopped) return;
    cancelProbe = options.clock.timer(PROBE_MS, () => {
      // A failed probe is not reported: the outage was reported when it began.
      options.probe().then(over, probeLater);
    });
  };
  const over = () => {
    if (stopped || kinds.size === 0) return;
    kinds.clear();
    const count = suppressed;
    suppressed = 0;
    options.onOver(count);
  };
  return {
    report: (error) => {
      if (stopped) return;
      const kind = kindOf(error);
      if (kinds.has(kind)) {
        suppressed++;
        return;
      }
      if (kinds.size === 0) probeLater();
      kinds.add(kind);
      options.onOutage(error);
    },
    stop: () => {
      stopped = true;
      cancelProbe();
    },
  };
}

function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : error.name;
}
