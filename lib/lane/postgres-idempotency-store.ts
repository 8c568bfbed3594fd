import type { Pool } from "pg";
import type { Claim, ClaimTimes } from "@/lib/retry/idempotency/claim";
import type { IdempotencyStore } from "@/lib/retry/idempotency/store";

/** Milliseconds of a parameter from now, by the clock read where the row is: after any wait for its lock. */
const FROM_NOW = (parameter: string) => `clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;
const NOW_US = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

/**
 * $1 key, $2 window ms, $3 lease ms. One row: what the claim came to. None: the key changed hands between this
 * statement's snapshot and its insert, so asking again sees how.
 */
const CLAIM_SQL = `
with claimed as (
  insert into idempotency_claims as c (key, fence, state, lease_until, expires_at)
  values ($1, ${NOW_US}, 'claimed', ${FROM_NOW("$3")}, ${FROM_NOW("$2")})
  on conflict (key) do update
     set fence = greatest(c.fence + 1, ${NOW_US}), state = 'claimed', result = null,
         lease_until = ${FROM_NOW("$3")}, expires_at = ${FROM_NOW("$2")}
   where c.state = 'released' or c.expires_at <= clock_timestamp()
      or (c.state = 'claimed' and c.lease_until <= clock_timestamp())
  returning fence
)
select 'claimed' as kind, fence::text as fence, null::float8 as until_ms, null::json as result from claimed
union all
select case state when 'done' then 'done' else 'in-progress' end, null,
       extract(epoch from lease_until)::float8 * 1000, result
  from idempotency_claims
 where key = $1 and not exists (select from claimed) and expires_at > clock_timestamp()
   and (state = 'done' or (state = 'claimed' and lease_until > clock_timestamp()))`;

/** $1 key, $2 fence. The holder of the latest claim, while its window lasts. */
const HELD = "key = $1 and fence = $2::bigint and state = 'claimed' and expires_at > clock_timestamp()";
const FINISH_SQL = `update idempotency_claims set state = 'done', result = $3::json, expires_at = ${FROM_NOW("$4")} where ${HELD}`;
const RELEASE_SQL = `update idempotency_claims set state = 'released' where ${HELD}`;
const RENEW_SQL = `update idempotency_claims set lease_until = ${FROM_NOW("$3")}, expires_at = ${FROM_NOW("$4")} where ${HELD}`;

type ClaimRow =
  | { kind: "claimed"; fence: string }
  | { kind: "in-progress"; until_ms: number }
  | { kind: "done"; result: unknown };

/** Rounds in which somebody else's claim came between; each next one sees the one before. */
const ROUNDS_MAX = 10;

/**
 * Idempotency keys on Postgres, table `idempotency_claims`, shared by all processes. A fence is the server's time in
 * microseconds, or one more than the fence before where that is higher: it goes on growing over an expiry, a release and
 * a truncated table.
 *
 * `untilMs` of a claim in progress is epoch milliseconds of the server. A claim whose window has passed is fenced.
 * Rejects with what pg says when Postgres is away. The pool stays the caller's.
 */
export function createPostgresIdempotencyStore<R>(pool: Pool): IdempotencyStore<R> {
  async function ask(key: string, { windowMs, leaseMs }: ClaimTimes): Promise<ClaimRow | undefined> {
    const { rows } = await pool.query<ClaimRow>({
      name: "parkade-claim-key",
      text: CLAIM_SQL,
      values: [key, windowMs, leaseMs],
    });
    return rows[0];
  }

  async function hold(name: string, text: string, values: unknown[]): Promise<boolean> {
    const { rowCount } = await pool.query({ name: `parkade-${name}-key`, text, values });
    return rowCount === 1;
  }

  return {
    async claim(key, times): Promise<Claim<R>> {
      for (let round = 1; round <= ROUNDS_MAX; round++) {
        const row = await ask(key, times);
        if (row?.kind === "claimed") return { kind: "claimed", fence: Number(row.fence) };
        if (row?.kind === "done") return { kind: "done", result: row.result as R };
        if (row !== undefined) return { kind: "in-progress", untilMs: row.until_ms };
      }
      throw new Error("an idempotency key changes hands faster than it can be read");
    },
    finish: (key, fence, result, { windowMs }) =>
      hold("finish", FINISH_SQL, [key, fence, JSON.stringify(result), windowMs]),
    release: (key, fence) => hold("release", RELEASE_SQL, [key, fence]),
    renew: (key, fence, { leaseMs, windowMs }) => hold("renew", RENEW_SQL, [key, fence, leaseMs, windowMs]),
  };
}
