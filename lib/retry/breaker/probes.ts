/** The bounded, expiring permits of a half-open breaker. */
export type Probes = {
  /** Takes a slot for permit `id`; false when all are taken or reported. */
  take(id: number, nowMs: number): boolean;
  has(id: number): boolean;
  /** The probe has an answer: its slot stays used until the state moves. */
  report(id: number): void;
  /** The probe decides nothing: its slot is free again. */
  release(id: number): void;
  /** When the first lost probe ran out, null when none has by `nowMs`. */
  expiredMs(nowMs: number): number | null;
  /** Milliseconds until a slot could be taken: 0 when one is free, else until the next probe would be lost. */
  waitMs(nowMs: number): number;
  readonly reported: number;
  readonly inFlight: number;
  clear(): void;
};

/** @param slots how many probes decide @param msMax how long a probe may take before it is lost */
export function probeSlots(slots: number, msMax: number): Probes {
  // Insertion order is expiry order, since every probe lives equally long.
  const expiries = new Map<number, number>();
  let reported = 0;
  const free = () => expiries.size + reported < slots;
  const firstExpiryMs = () => expiries.values().next().value ?? null;
  return {
    take(id, nowMs) {
      if (!free()) return false;
      expiries.set(id, nowMs + msMax);
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
    waitMs: (nowMs) => (free() ? 0 : Math.max(0, (firstExpiryMs() ?? nowMs) - nowMs)),
    get reported() {
      return reported;
    },
    get inFlight() {
      return expiries.size;
    },
    clear() {
      expiries.clear();
      reported = 0;
    },
  };
}
