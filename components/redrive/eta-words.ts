import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const UNITS = [
  { ms: 86_400_000, word: "d" },
  { ms: 3_600_000, word: "h" },
  { ms: 60_000, word: "min" },
  { ms: 1_000, word: "s" },
] as const;

/**
 * A duration in its two largest units, rounded up to at least a second: `41 min`, `3 h 20 min`. Above ten of the larger
 * unit the smaller unit is left out.
 */
export function spanWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000)) * 1000;
  const index = UNITS.findIndex((unit) => seconds >= unit.ms);
  const large = UNITS[index === -1 ? UNITS.length - 1 : index]!;
  const small = UNITS[index + 1];
  if (!small) return `${seconds / large.ms} ${large.word}`;
  const inLarge = seconds / large.ms;
  if (inLarge >= 10) return carry(Math.round(inLarge), index);
  const whole = Math.floor(inLarge);
  const rest = Math.round((seconds - whole * large.ms) / small.ms);
  if (rest === large.ms / small.ms) return carry(whole + 1, index);
  return rest === 0 ? `${whole} ${large.word}` : `${whole} ${large.word} ${rest} ${small.word}`;
}

/** Rounding up may fill the next unit: 59.7 minutes are one hour, not `60 min`. */
function carry(whole: number, index: number): string {
  const unit = UNITS[index]!;
  const larger = UNITS[index - 1];
  return larger && whole * unit.ms >= larger.ms ? `1 ${larger.word}` : `${whole} ${unit.word}`;
}

/** Before the redrive: `takes about 41 min`. */
export function etaBefore(ms: number | null): string {
  if (ms === null) return "as fast as the targets accept them";
  return ms < 1_500 ? "takes about a second" : `takes about ${spanWords(ms)}`;
}

/** While it runs: `about 41 min left`. */
export function etaLeft(ms: number | null): string {
  if (ms === null) return "time left unknown";
  return ms < 1_500 ? "about a second left" : `about ${spanWords(ms)} left`;
}

/** `5/s`, `0.5/s`, `unlimited`. */
export function rateWords(ratePerSecond: number | null): string {
  if (ratePerSecond === null) return "unlimited";
  return `${ratePerSecond.toLocaleString("en-US", { maximumFractionDigits: ratePerSecond < 10 ? 2 : 1 })}/s`;
}

/**
 * The speed of a running redrive: `4.9/s · about 15 min left`. At a rate of zero something blocks it (no worker, an
 * open breaker), and a remaining time from the set rate would be wrong.
 *
 * @param rateNow sends per second over the last 30 s; null = it has sent nothing yet
 */
export function paceWords(rateNow: number | null, etaMs: number | null): string {
  if (rateNow === null) return "starting";
  if (rateNow === 0) return "nothing sent in the last 30 s";
  return `${rateWords(rateNow)} · ${etaLeft(etaMs)}`;
}

type Stalled = NonNullable<RedriveOut["stalled"]>;

const STALLED: Record<Stalled["code"], string> = {
  paused: "paused: nothing is sent",
  stopped: "sends are stopped",
  approval: "waits for approval",
  "starts-later": "waits for its start time",
  "waits-for-breaker": "waits for the breaker",
  "no-worker": "no worker is running",
  hold: "can still be undone",
  "target-away": "its target cannot be reached",
  "breaker-open": "the breaker is open",
  "canary-waits": "canary waits",
  deferred: "waits for the next attempt",
  blocked: "another redrive is sent first",
  rate: "its rate is low",
  "in-hand": "waits for its target",
  unknown: "nothing is sent",
};

/**
 * Why a running redrive sends nothing now, and how long: `canary waits 9 s · about 11 min left`. The time left includes the
 * waits of a canary, which pass by themselves; any other cause makes it unknown.
 */
export function stallWords({ code, until }: Stalled, etaMs: number | null, nowMs: number): string {
  const leftMs = until === null || nowMs === 0 ? 0 : Date.parse(until) - nowMs;
  const words = leftMs > 0 ? `${STALLED[code]} ${spanWords(leftMs)}` : STALLED[code];
  return code === "canary-waits" && etaMs !== null ? `${words} · ${etaLeft(etaMs)}` : words;
}
