import { addressKey } from "@/lib/guard/viewer/address-key.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Tries that are free, and the longest wait after them; each further try doubles the wait from one second on. */
type TryLimit = { key: string; free: number; waitMsMax: number };

/**
 * By what tries are counted. One address cannot guess the password of an account; many together cannot either, but make its
 * owner wait a minute at most in a browser that has not signed in to the account before: see `knownBrowserLimits`.
 */
export function tryLimits(nameKey: string, address: string | null): TryLimit[] {
  const from = addressKey(address);
  return [
    { key: `account:${nameKey}@${from}`, free: 5, waitMsMax: 15 * 60_000 },
    { key: `account:${nameKey}`, free: 50, waitMsMax: 60_000 },
    addressLimit(address),
  ];
}

/**
 * Of a browser that has signed in to the account before. Others do not have its cookie, so they cannot make it wait; and whoever has
 * stolen the cookie has few tries with it.
 */
export function knownBrowserLimits(id: string): TryLimit[] {
  return [{ key: `browser:${id}`, free: 10, waitMsMax: 15 * 60_000 }];
}

/** Of a person who has signed in and types the password again: others do not make that person wait. */
export function proofLimits(session: string): TryLimit[] {
  return [{ key: `session:${session}`, free: 5, waitMsMax: 15 * 60_000 }];
}

function addressLimit(address: string | null): TryLimit {
  return { key: `address:${addressKey(address)}`, free: 30, waitMsMax: 15 * 60_000 };
}

/**
 * Of one-time links, whose 256 bits nobody guesses: counted apart, so that guessing passwords from an address does
 * not block invitations there.
 */
export function linkLimits(address: string | null): TryLimit[] {
  return [{ key: `link:${addressKey(address)}`, free: 30, waitMsMax: 15 * 60_000 }];
}

/** By what the programs are counted that ask for a sign-in: each stores a row. */
export function programLimits(address: string | null): TryLimit[] {
  return [{ key: `program:${addressKey(address)}`, free: 30, waitMsMax: 15 * 60_000 }];
}

/** Of sign-ins at a provider: each that begins stores a row. A whole office may have one address. */
export function providerLimits(address: string | null): TryLimit[] {
  return [{ key: `provider:${addressKey(address)}`, free: 300, waitMsMax: 60_000 }];
}

/** Of logout tokens that are not good: each may make this process ask the provider for its keys. */
export function logoutLimits(address: string | null): TryLimit[] {
  return [{ key: `logout:${addressKey(address)}`, free: 300, waitMsMax: 60_000 }];
}

/** A pause of an hour forgets the tries before it. */
const TRIES = "(case when t.last_at < now() - interval '1 hour' then 1 else t.failures + 1 end)";

/** Earlier than any statement began: of two at once the second one has the earlier time. */
const NO_WAIT = "to_timestamp(0)";

/**
 * Counts a try before it is judged, so that many at once have no more tries than one after the other. Throws DomainError
 * `too-many-requests` with the wait.
 */
export async function countTry(db: Queryable, limits: readonly TryLimit[]): Promise<void> {
  for (const { key, free, waitMsMax } of limits) {
    const counted = await db.run(
      `insert into sign_in_tries as t (key, failures, last_at, until_at) values ($1, 1, now(), ${NO_WAIT})
       on conflict (key) do update
          set failures = ${TRIES}, last_at = now(),
              until_at = case when ${TRIES} < $2 then ${NO_WAIT}
                              else now() + interval '1 ms' * least($3::float8, 1000 * power(2, least(${TRIES} - $2, 20))) end
        where t.until_at <= now()`,
      [key, free, waitMsMax],
    );
    if (counted === 0) throw await tooMany(db, key);
  }
}

async function tooMany(db: Queryable, key: string): Promise<DomainError> {
  const [row] = await db.query<{ waitMs: number }>(
    `select greatest(1000, extract(epoch from until_at - now()) * 1000)::float8 as "waitMs" from sign_in_tries where key = $1`,
    [key],
  );
  const waitMs = row?.waitMs ?? 1_000;
  return new DomainError(
    "too-many-requests",
    `Too many attempts to sign in: try again in ${Math.ceil(waitMs / 1000)} s`,
    {
      retryAfterMs: waitMs,
    },
  );
}

/** After a sign-in the tries of its account, browser or session are forgotten; of its address this one is taken back. */
export async function forgetTries(db: Queryable, limits: readonly TryLimit[]): Promise<void> {
  const keys = limits.flatMap(({ key }) => (isOfPerson(key) ? [key] : []));
  await db.run("delete from sign_in_tries where key = any($1::text[])", [keys]);
  await takeBackTry(db, limits);
}

const isOfPerson = (key: string) => /^(account|browser|session):/.test(key);

/** The try was right: a whole office signs in from one address. What is counted by account, browser or session stays. */
export async function takeBackTry(db: Queryable, limits: readonly TryLimit[]): Promise<void> {
  for (const { key, free } of limits) {
    if (isOfPerson(key)) continue;
    await db.run(
      `update sign_in_tries set failures = greatest(failures - 1, 0),
              until_at = case when failures <= $2 then ${NO_WAIT} else until_at end
        where key = $1`,
      [key, free],
    );
  }
}
