import { type Environment, environmentOf } from "@/lib/kit/retry/environment";
import { type CachePolicy, ResponseCache } from "@/lib/retry/cache/response-cache";
import { above, between, checkFields, integer } from "@/lib/retry/check-fields";
import { type IdempotencyStore, memoryIdempotencyStore } from "@/lib/retry/idempotency/store";
import { PolicyError } from "@/lib/retry/policy-error";

/** Answers of reads, kept by key for this process. Throws PolicyError. */
export function createResponseCache<T>(policy: CachePolicy, environment: Environment = {}): ResponseCache<T> {
  const ms = 86_400_000 * 366;
  const violations = checkFields(policy, {
    entriesMax: integer(1, 1e9),
    ttlMs: above(0, ms),
    staleMs: between(0, ms),
  });
  if (violations.length > 0) throw new PolicyError(violations);
  return new ResponseCache(policy, environmentOf(environment).clock);
}

/** Keys of operations that this process runs or has run. Lost on restart: for several processes use a shared store. */
export function createMemoryStore<R>(options: Environment & { entriesMax?: number } = {}): IdempotencyStore<R> {
  return memoryIdempotencyStore(environmentOf(options).clock, options.entriesMax);
}
