import { instantMs } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Epoch milliseconds of an instant as people write it, or null when it is none: as `instantMs` reads it, `now`, or relative to
 * now: `-24h`, `24h` and `now-24h` are the same; units s, m (up to nine digits), h (seven), d, w (five).
 */
export function resolveInstant(value: string, nowMs: number): number | null {
  if (value === "now") return nowMs;
  const relative = /^(?:now)?([+-]?)(?=\d{1,9}[sm]$|\d{1,7}h$|\d{1,5}[dw]$)(\d+)([smhdw])$/.exec(value);
  if (!relative) return instantMs(value);
  const distance = Number(relative[2]) * UNIT_MS[relative[3]!]!;
  return relative[1] === "+" ? nowMs + distance : nowMs - distance;
}

/** [fromMs, toMs), null = open. */
type Window = { fromMs: number | null; toMs: number | null };

/** The window of a filter in which events were parked first. Throws DomainError `invalid-window` when it is reversed. */
export function resolveWindow(filter: { from?: string | undefined; to?: string | undefined }, nowMs: number): Window {
  return windowBetween(filter, ["from", "to"], nowMs);
}

/** The window in which events failed last. Throws DomainError `invalid-window` when it is reversed. */
export function resolveFailedWindow(
  filter: { failedFrom?: string | undefined; failedTo?: string | undefined },
  nowMs: number,
): Window {
  return windowBetween(filter, ["failedFrom", "failedTo"], nowMs);
}

function windowBetween<From extends string, To extends string>(
  filter: { [name in From | To]?: string | undefined },
  [from, to]: [From, To],
  nowMs: number,
): Window {
  const at = (value: string | undefined) => (value === undefined ? null : resolveInstant(value, nowMs));
  const [fromMs, toMs] = [at(filter[from]), at(filter[to])];
  if (fromMs !== null && toMs !== null && fromMs > toMs) {
    throw new DomainError("invalid-window", `The window is reversed: ${from} is after ${to}, swap them`, {
      fields: [{ field: from, detail: `is after ${to}` }],
    });
  }
  return { fromMs, toMs };
}
