/**
 * How fast a redrive moves and how long it takes: one model for the dialog, the pace panel, the API and the worker. Rates are
 * events per second, null = unlimited; times are milliseconds.
 */

/** The rate of a target, and the time over which a redrive rises to it. */
export type TargetPace = {
  ratePerSecond: number | null;
  warmUpMs: number;
  /** Sends at once, for each worker. */
  bulkhead?: number;
};

/** Paces of the targets of one lane, by source name. */
export type LanePaces = Readonly<Record<string, TargetPace>>;
