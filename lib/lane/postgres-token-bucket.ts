import type { Pool } from "pg";
import { assertAffordable, assertTakeable, TOKEN_EPSILON, upToAnswer, waitMsUntil } from "./bucket-spec";
import type { BucketSpec, TokenBucket } from "./port";

/** Tokens in a bucket at the moment `at`, the clock read where the row was. */
const REFILLED = `least($3::float8,
  tokens + greatest(0, extract(epoch from at - updated_at)::float8) * $2::float8)`;

/**
 * $1 key, $2 rate per second, $3 burst, $4 cost, $5 all or none, $6 tokens lent. One row if the bucket exists, else none.
 *
 * First a read without a lock: most takes come too early, and then nothing is locked, written or synced to disk. If
 * there seem to be enough tokens, the row is locked and all is computed anew, with the clock read after the lock: `now()`
 * or the first reading would be older than the row of the holder before.
 *
 * A clock that is set back credits nothing for that interval, and its time must be written, or the bucket would wait until
 * the clock reaches the old time again; one that is set forward credits at most the burst.
 */
const TAKE_SQL = `
with seen as materialized (
  select tokens, updated_at, clock_timestamp() as at from rate_buckets where key = $1
), glimpsed as materialized (
  select at, updated_at, ${REFILLED} as tokens from seen
), locked as materialized (
  select b.tokens, b.updated_at from rate_buckets as b, glimpsed as g
  where b.key = $1 and (g.at < g.updated_at or
    $2::float8 > 0 and g.tokens + ${TOKEN_EPSILON} >= case when $5::boolean then $4::float8 else 1 - $6::float8 end)
  for update of b
), timed as materialized (
  select tokens, updated_at, clock_timestamp() as at from locked
), refilled as (
  select at, ${REFILLED} as tokens from timed
), decided as (
  select at, tokens, case
    when $2::float8 = 0 then 0
    when not $5::boolean then greatest(0, least($4::float8, floor(tokens + $6::float8 + ${TOKEN_EPSILON})))
    when tokens + ${TOKEN_EPSILON} >= $4::float8 then $4::float8
    else 0 end as granted
  from refilled
), taken as (
  update rate_buckets as b set tokens = d.tokens - d.granted, updated_at = d.at
  from decided as d where b.key = $1
  returning d.granted, b.tokens
)
select granted, tokens from taken
union all
select 0, tokens from glimpsed where not exists (select from locked)`;

/** A bucket that is not there starts empty: a lost table never allows more than the bound. */
const START_SQL = `insert into rate_buckets (key, tokens, updated_at) values ($1, 0, clock_timestamp())
on conflict (key) do nothing`;

const LEVEL_SQL = `select ${REFILLED} as tokens
from (select tokens, updated_at, clock_timestamp() as at from rate_buckets where key = $1) as seen`;

/**
 * Token bucket on Postgres, table `rate_buckets`. Bound: with R the highest rate and B the highest burst in force
 * during a window of t seconds, at most R * t + B tokens are issued in it; with unchanged settings that is
 * rate * t + burst. A crash of the server keeps it: a token counts as issued when its statement is committed. The time
 * since tokens were last taken is credited at the rate of the take that follows.
 *
 * Rejects with pg's error when Postgres is away: no token without Postgres. The caller closes the pool.
 */
export function createPostgresTokenBucket(pool: Pool): TokenBucket {
  async function call({ key, ratePerSecond, burst, lent = 0 }: BucketSpec, cost: number, all: boolean) {
    const { rows } = await pool.query<{ granted: number; tokens: number }>({
      name: "parkade-take-tokens",
      text: TAKE_SQL,
      values: [key, ratePerSecond, burst, cost, all, lent],
    });
    if (rows[0]) return rows[0];
    await pool.query(START_SQL, [key]);
    return { granted: 0, tokens: 0 };
  }

  return {
    take: async (spec, cost) => {
      assertAffordable(spec, cost);
      const { granted, tokens } = await call(spec, cost, true);
      if (granted > 0) return { granted: true };
      return { granted: false, waitMs: waitMsUntil(cost, tokens, spec.ratePerSecond) };
    },
    takeUpTo: async (spec, cost) => {
      assertTakeable(spec, cost);
      const { granted, tokens } = await call(spec, cost, false);
      return upToAnswer(spec, granted, tokens);
    },
    // The value is for display only: unknown instead of an error.
    level: (spec) =>
      pool.query<{ tokens: number }>(LEVEL_SQL, [spec.key, spec.ratePerSecond, spec.burst]).then(
        ({ rows }) => Math.max(0, rows[0]?.tokens ?? 0),
        () => null,
      ),
  };
}
