import { host } from "@/lib/kit/host";
import { assertWhole } from "@/lib/kit/sql";
import type { Clock } from "@/lib/platform/clock";

/** A client of ioredis, or of node-redis by `{ get, set: (key, value, ...rest) => client.sendCommand([...]) }`. */
export type RedisClient = {
  get(key: string): Promise<string | null>;
  set(key: string, value: string, expiry: "EX", seconds: number, condition: "NX"): Promise<unknown>;
};

export type ShieldOptions = {
  redis: RedisClient;
  /** How long a key stays. At least `reorderingMs`. Whole seconds. */
  ttlMs: number;
  /** The longest time between two deliveries of one event: retention of the topic, visibility times, redrives. */
  reorderingMs: number;
  prefix?: string;
  /** A slower answer of Redis counts as none. Default 50 ms. */
  timeoutMs?: number;
  /** For how long Redis is not asked after it failed. Default 1 s. */
  pauseMs?: number;
  /** Redis failed: the database alone decides. */
  onError?: (error: unknown) => void;
  clock?: Clock;
};

/**
 * Knows, without the database, events that were processed for certain. It is written after the commit and never before: a
 * key that is set before it would make the redelivery of a crashed or rolled-back transaction look processed, and the event
 * would be lost. Without an answer it knows nothing, and never throws.
 */
export type Shield = {
  /** False = not known here: ask the database. */
  knows(consumer: string, eventId: string): Promise<boolean>;
  /** To be called after the commit of the transaction that processed the event. */
  remember(consumer: string, eventId: string): Promise<void>;
};

/** Throws TypeError when the keys could expire before the last redelivery. */
export function redisShield(options: ShieldOptions): Shield {
  const { redis, ttlMs, reorderingMs, prefix = "inbox", timeoutMs = 50, pauseMs = 1_000, clock = host.clock } = options;
  assertWhole("ttlMs", ttlMs, 1_000);
  assertWhole("reorderingMs", reorderingMs, 0);
  if (ttlMs < reorderingMs) {
    throw new TypeError(
      `ttlMs is ${ttlMs}: it must be at least reorderingMs (${reorderingMs}), else a late redelivery finds no key`,
    );
  }
  const seconds = Math.ceil(ttlMs / 1_000);
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  /** null without an answer. */
  async function ask<T>(question: () => Promise<T>): Promise<T | null> {
    if (clock.nowMs() < pausedUntilMs) return null;
    const late = new AbortController();
    try {
      const silence = clock.sleep(timeoutMs, late.signal).then(
        () => Promise.reject(new Error(`Redis did not answer within ${timeoutMs} ms`)),
        () => null,
      );
      return await Promise.race([question(), silence]);
    } catch (error) {
      pausedUntilMs = clock.nowMs() + pauseMs;
      options.onError?.(error);
      return null;
    } finally {
      late.abort();
    }
  }

  const key = (consumer: string, eventId: string) => `${prefix}:${consumer}:${eventId}`;
  return {
    knows: async (consumer, eventId) => (await ask(() => redis.get(key(consumer, eventId)))) !== null,
    remember: async (consumer, eventId) => {
      // NX: a repeat does not move the end of the window.
      await ask(() => redis.set(key(consumer, eventId), "1", "EX", seconds, "NX"));
    },
  };
}
