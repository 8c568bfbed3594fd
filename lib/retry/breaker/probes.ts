import type { BreakerPolicy } from "@/lib/retry/breaker/breaker";

/** The bounded, expiring permits of a half-open breaker. */
export type Probes = {
  /** Takes a slot for permit `id`; false when all are taken or reported, or when the last was taken too short a time ago. */
  take(id: number, nowMs: number): boolean;
  has(id: number): boolean;
  /** The probe has an answer: its slot stays used until the state moves. */
  report(id: number): void;
  /** The probe decides nothing: its slot is free again. */
  release(id: number): void;
  /** When the first lost probe ran out, null when none has by `nowMs`. */
  expiredMs(nowMs: number): number | null;
  /** Milliseconds until a slot could be taken: 0 when one may be now, else until its turn or until the next probe would be lost. */
  waitMs(nowMs: number): number;
  readonly reported: number;
  readonly inFlight: number;
  clear(): void;
};

/** `probes` decide, one may begin in each `probeEveryMs`, and one that takes `probeMsMax` is lost. */
export function probeSlots({
  probes: slots,
  probeEveryMs: everyMs = 0,
  probeMsMax: msMax,
}: Pick<BreakerPolicy, "probes" | "probeEveryMs" | "probeMsMax">): Probes {
  // Insertion order is expiry order, since every probe lives equally long.
  const expiries = new Map<number, number>();
  let reported = 0;
  /** A slot that was given back has had its turn, too: its send may have begun. */
  let nextMs = Number.NEGATIVE_INFINITY;
  const free = () => expiries.size + reported < slots;
  const firstExpiryMs = () => expiries.values().next().value ?? null;
  return {
    take(id, nowMs) {
      if (!free() || nowMs < nextMs) return false;
      expiries.set(id, nowMs + msMax);
      nextMs = nowMs + everyMs;
      return true;
    },
    has: (id) => expiries.has(id),
    report(id) {
      if (expiries.delete(id)) reported++;
    },
    release(id) {
      expiries.delete(id);
    },
    expiredMs(nowMs) {
      const expiryMs = firstExpiryMs();
      return expiryMs !== null && expiryMs <= nowMs ? expiryMs : null;
    },
    waitMs: (nowMs) => Math.max(0, (free() ? nextMs : (firstExpiryMs() ?? nowMs)) - nowMs),
    get reported() {
      return reported;
    },
    get inFlight() {
      return expiries.size;
    },
    clear() {
      expiries.clear();
      reported = 0;
      nextMs = Number.NEGATIVE_INFINITY;
    },
  };
}
