import type { Redis } from "ioredis";
import type { Claim, ClaimTimes } from "@/lib/retry/idempotency/claim";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";
import { REDIS_PREFIX_DEFAULT } from "./connection";

/**
 * KEYS[1]  hash of one key: state (claimed | done | released), fence, lease and expires (server time, microseconds),
 *          result (JSON)
 *
 * Redis runs each script alone, on its own clock. The hash outlives its window by a second, so that the comparison in
 * the script decides and not the moment at which Redis happens to drop the key.
 */
const NOW_LUA = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local us = function(n) return string.format('%.0f', n) end
local keep = function(windowMs) redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(windowMs)) + 1000) end
`;

/** ARGV: window ms, lease ms. Returns { 'done', result } | { 'in-progress', lease end } | { 'claimed', fence }. */
const CLAIM_LUA = `${NOW_LUA}
local entry = redis.call('HMGET', KEYS[1], 'state', 'fence', 'lease', 'expires', 'result')
local alive = entry[4] and now < tonumber(entry[4])
if alive and entry[1] == 'done' then return { 'done', entry[5] } end
if alive and entry[1] == 'claimed' and now < tonumber(entry[3]) then return { 'in-progress', entry[3] } end
local fence = math.max(now, (tonumber(entry[2]) or 0) + 1)
redis.call('HSET', KEYS[1], 'state', 'claimed', 'fence', us(fence), 'lease', us(now + tonumber(ARGV[2]) * 1000),
  'expires', us(now + tonumber(ARGV[1]) * 1000), 'result', '')
keep(ARGV[1])
return { 'claimed', us(fence) }
`;

/** ARGV: fence, act (finish | release | renew), window ms, lease ms, result. Returns 1, or 0 when fenced. */
const HOLD_LUA = `${NOW_LUA}
local entry = redis.call('HMGET', KEYS[1], 'state', 'fence', 'expires')
if entry[1] ~= 'claimed' or entry[2] ~= ARGV[1] or now >= tonumber(entry[3]) then return 0 end
if ARGV[2] == 'release' then
  redis.call('HSET', KEYS[1], 'state', 'released')
  return 1
end
redis.call('HSET', KEYS[1], 'expires', us(now + tonumber(ARGV[3]) * 1000))
if ARGV[2] == 'finish' then
  redis.call('HSET', KEYS[1], 'state', 'done', 'result', ARGV[5])
else
  redis.call('HSET', KEYS[1], 'lease', us(now + tonumber(ARGV[4]) * 1000))
end
keep(ARGV[3])
return 1
`;

type Act = "finish" | "release" | "renew";

type StoreRedis = Redis & {
  parkadeClaim(key: string, windowMs: number, leaseMs: number): Promise<["done" | "in-progress" | "claimed", string]>;
  parkadeHold(key: string, fence: string, act: Act, windowMs: number, leaseMs: number, result: string): Promise<number>;
};

/**
 * Idempotency keys on Redis, shared by all processes. A fence is the server's time in microseconds, or one more than the
 * fence before where that is higher: it goes on growing over an expiry, a release and a FLUSHALL. What a flush loses is
 * the keys themselves: a repeat of a request from before it runs again.
 *
 * `untilMs` of a claim in progress is epoch milliseconds of the server. A claim whose window has passed is fenced.
 * Rejects with what ioredis says when Redis is away.
 */
export function createRedisIdempotencyStore<R>(
  client: Redis,
  prefix: string = REDIS_PREFIX_DEFAULT,
): IdempotencyStore<R> {
  client.defineCommand("parkadeClaim", { numberOfKeys: 1, lua: CLAIM_LUA });
  client.defineCommand("parkadeHold", { numberOfKeys: 1, lua: HOLD_LUA });
  const redis = client as StoreRedis;
  const nameOf = (key: string) => `${prefix}:idempotency:${key}`;

  async function hold(key: string, fence: number, act: Act, times: ClaimTimes, result = ""): Promise<boolean> {
    const { windowMs, leaseMs } = times;
    return (await redis.parkadeHold(nameOf(key), String(fence), act, windowMs, leaseMs, result)) === 1;
  }

  return {
    async claim(key, { windowMs, leaseMs }): Promise<Claim<R>> {
      const [kind, value] = await redis.parkadeClaim(nameOf(key), windowMs, leaseMs);
      if (kind === "done") return { kind, result: JSON.parse(value) as R };
      return kind === "claimed" ? { kind, fence: Number(value) } : { kind, untilMs: Number(value) / 1000 };
    },
    finish: (key, fence, result, times) => hold(key, fence, "finish", times, JSON.stringify(result)),
    release: (key, fence) => hold(key, fence, "release", NO_TIMES),
    renew: (key, fence, times) => hold(key, fence, "renew", times),
  };
}

/** A release changes neither window nor lease. */
const NO_TIMES: ClaimTimes = { windowMs: 0, leaseMs: 0 };
