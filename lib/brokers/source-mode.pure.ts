/** `paused`: not read, the broker keeps everything. `draining`: read until empty, then paused. `stopped`: not read, and not reported. */
export const SOURCE_MODES = ["running", "paused", "draining", "stopped"] as const;
export type SourceMode = (typeof SOURCE_MODES)[number];

/** What one worker says of its consumer, the worst first. A source shows the worst of its consumers. */
export const CONSUMER_STATES = [
  "failing",
  "connecting",
  "draining",
  "running",
  "drained",
  "paused",
  "stopped",
] as const;
export type ConsumerWord = (typeof CONSUMER_STATES)[number];

export type ConsumerPart = {
  name: string;
  lag: number | null;
  /** Events parked of it per second, over the last minute; null = unknown. */
  ratePerSecond: number | null;
  /** Messages of it that cannot be committed and stay in the broker. */
  setAside: number;
};
