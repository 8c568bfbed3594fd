/** The bounded, expiring permits of a half-open breaker. */
export type Probes = {
  /** Takes a slot for permit `id`; false when all are taken or reported. */
  take(id: number, nowMs: number): boolean;
  has(id: number): boolean;
  /** The probe has an answer: its slot stays used until the state moves. */
  report(id: number): void;
  /** The probe says nothing: its slot is free again. */
  release(id: number): void;
  /** When the first lost probe ran out, null when none has by `nowMs`. */
  expiredMs(nowMs: number): number | null;
  readonly reported: number;
  readonly inFlight: number;
  clear(): void;
};

/** @param slots how many probes decide @param msMax how long a probe may take before it is lost */
export function probeSlots(slots: number, msMax: number): Probes {
  // Insertion order is expiry order, since every probe lives equally long.
  const expiries = new Map<number, number>();
  let reported = 0;
  return {
    take(id, nowMs) {
      if (expiries.size + reported >= slots) return false;
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
      for (const expiryMs of expiries.values()) return expiryMs <= nowMs ? expiryMs : null;
      return null;
    },
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
