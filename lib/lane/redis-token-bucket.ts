import { assertAffordable, assertTakeable, TOKEN_EPSILON, upToAnswer, waitMsUntil } from "./bucket-spec";
import type { BucketSpec, TokenBucket } from "./port";
import type { LaneRedis } from "./redis-client";

/** A bucket without a take for a day is deleted; the next take starts it empty. */
const IDLE_MS = 86_400_000;

/**
 * KEYS[1]  hash of one bucket: tokens, at (server time, microseconds), run (run id of the server that wrote it)
 * ARGV     rate per second, burst, cost, mode: all (all or none) | some (up to cost) | peek (change nothing), tokens lent
 * returns  { granted, tokens left }
 *
 * Redis runs it alone, so the workers share one bucket without a race, on the server's clock. A clock that is set back
 * credits nothing for that interval; one that is set forward credits at most the burst.
 *
 * A bucket that is not there starts empty, and so does one that another run of the server wrote: a restart from an old
 * snapshot, or a failover, would bring back tokens that are spent.
 */
const TAKE_LUA = `
local rate, burst, cost, mode, lent = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at', 'run')
local tokens, at = 0, now
if state[1] and state[2] and state[3] == run then
  tokens, at = tonumber(state[1]), tonumber(state[2])
end
tokens = math.min(burst, tokens + math.max(0, now - at) * rate / 1000000)
local granted = 0
if rate > 0 and mode == 'all' and tokens + ${TOKEN_EPSILON} >= cost then
  granted = cost
elseif rate > 0 and mode == 'some' then
  granted = math.max(0, math.min(cost, math.floor(tokens + lent + ${TOKEN_EPSILON})))
end
if mode ~= 'peek' then
  tokens = tokens - granted
  redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens), 'at', string.format('%.0f', now), 'run', run)
  redis.call('PEXPIRE', KEYS[1], ${IDLE_MS})
end
return { tostring(granted), string.format('%.17g', tokens) }
`;

type Mode = "all" | "some" | "peek";

type BucketRedis = LaneRedis & {
  parkadeTake(
    key: string,
    rate: number,
    burst: number,
    cost: number,
    mode: Mode,
    lent: number,
  ): Promise<[string, string]>;
};

/**
 * Token bucket on Redis. Bound: with R the highest rate and B the highest burst in force during a window of t seconds,
 * at most R * t + B tokens are issued in it; with unchanged settings that is rate * t + burst. FLUSHALL, restart and
 * failover keep the bound, since the bucket then starts empty. The time since the last take is credited at the rate of
 * the take that follows it.
 *
 * Rejects with ioredis' error when Redis is away: no token without Redis. `prefixOf`: the prefix of the key of a bucket.
 */
export function createRedisTokenBucket(client: LaneRedis, prefixOf: (key: string) => string): TokenBucket {
  client.defineCommand("parkadeTake", { numberOfKeys: 1, lua: TAKE_LUA });
  const redis = client as BucketRedis;

  async function call({ key, ratePerSecond, burst, lent = 0 }: BucketSpec, cost: number, mode: Mode) {
    const [granted, tokens] = await redis.parkadeTake(
      `${prefixOf(key)}:bucket:${key}`,
      ratePerSecond,
      burst,
      cost,
      mode,
      lent,
    );
    return { granted: Number(granted), tokens: Number(tokens) };
  }

  return {
    take: async (spec, cost) => {
      assertAffordable(spec, cost);
      const { granted, tokens } = await call(spec, cost, "all");
      if (granted > 0) return { granted: true };
      return { granted: false, waitMs: waitMsUntil(cost, tokens, spec.ratePerSecond) };
    },
    takeUpTo: async (spec, cost) => {
      assertTakeable(spec, cost);
      const { granted, tokens } = await call(spec, cost, "some");
      return upToAnswer(spec, granted, tokens);
    },
    // The value is for display only: unknown instead of an error.
    level: (spec) =>
      call(spec, 0, "peek").then(
        ({ tokens }) => Math.max(0, tokens),
        () => null,
      ),
  };
}
