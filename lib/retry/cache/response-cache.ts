import type { Clock } from "@/lib/retry/clock";
import { Coalescer } from "@/lib/retry/coalesce";

export type CachePolicy = {
  entriesMax: number;
  /** How long an answer is fresh. */
  ttlMs: number;
  /** How much longer it may stand in when the target fails; 0 = never. */
  staleMs: number;
};

/** An answer and its age: a stale answer serves only when the target fails. */
export type Cached<T> = { value: T; ageMs: number; fresh: boolean };

type Entry<T> = { value: T; atMs: number };

/** LRU cache for idempotent reads. Never for writes: a cached "done" would hide that nothing was done. */
export class ResponseCache<T> {
  #policy: CachePolicy;
  #clock: Clock;
  #entries = new Map<string, Entry<T>>();
  #loads = new Coalescer<T>();

  constructor(policy: CachePolicy, clock: Clock) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /** The entry while it is fresh or may stand in, else null. */
  get(key: string): Cached<T> | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const ageMs = this.#clock.nowMs() - entry.atMs;
    this.#entries.delete(key);
    if (ageMs >= this.#policy.ttlMs + this.#policy.staleMs) return null;
    this.#entries.set(key, entry);
    return { value: entry.value, ageMs, fresh: ageMs < this.#policy.ttlMs };
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, atMs: this.#clock.nowMs() });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#policy.entriesMax) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** A fresh entry, or the answer of `load`, which runs once per key. When it rejects: a stale entry, else the rejection. */
  async through(key: string, load: () => Promise<T>): Promise<Cached<T>> {
    const cached = this.get(key);
    if (cached?.fresh) return cached;
    try {
      const value = await this.#loads.run(key, async () => {
        const loaded = await load();
        this.set(key, loaded);
        return loaded;
      });
      return { value, ageMs: 0, fresh: true };
    } catch (error) {
      if (cached !== null) return cached;
      throw error;
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
