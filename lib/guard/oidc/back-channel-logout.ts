import { appendAudit } from "@/lib/guard/audit/audit.write";
import { hashOf } from "@/lib/guard/sessions/secret";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { countTry, logoutLimits, takeBackTry } from "@/lib/guard/sign-in/tries.write";
import type { Tx } from "@/lib/platform/database/db";
import type { Logout } from "./logout-token";
import type { OidcProvider } from "./provider";

/**
 * Ends the sessions that a logout token of the provider names; a token that was taken before ends nothing. The account's tokens stay:
 * signing out is not leaving. Throws OidcRefusal `invalid`, `unavailable`, DomainError `too-many-requests`.
 */
export async function endSessionsOfProvider(
  { db, clock, oidc }: SignInDeps & { oidc: OidcProvider },
  { token, address }: { token: string; address: string | null },
): Promise<void> {
  const limits = logoutLimits(address);
  await countTry(db, limits);
  const logout = await oidc.verifyLogout(token);
  await takeBackTry(db, limits);
  const nowMs = clock.wallMs();
  await db.transaction(async (tx) => {
    if (!(await recordLogoutToken(tx, logout))) return;
    for (const { name, sessions } of await deleteSessions(tx, logout))
      await appendAudit(tx, {
        actor: "web",
        action: "session.ended",
        after: { account: name, by: "oidc", sessions },
        count: sessions,
        atMs: nowMs,
      });
  });
}

/** False = the token was taken before. */
async function recordLogoutToken(tx: Tx, { issuer, jti, refusedFromMs }: Logout): Promise<boolean> {
  const taken = await tx.run(
    `insert into oidc_logouts (jti_hash, expires_at) values ($1, to_timestamp($2::float8 / 1000)) on conflict do nothing`,
    [hashOf(JSON.stringify([issuer, jti])), refusedFromMs],
  );
  return taken > 0;
}

/**
 * A session whose sign-in brought no `sid` ends when the token names its subject: it may be the one that has ended. Returns the
 * accounts, with how many sessions of each ended.
 */
function deleteSessions(tx: Tx, { issuer, subject, sid }: Logout): Promise<{ name: string; sessions: number }[]> {
  return tx.query(
    `with ended as (
       delete from sessions s using accounts a
        where a.id = s.account_id and a.oidc_issuer = $1 and ($2::text is null or a.oidc_subject = $2)
          and ($3::text is null or s.oidc_sid = $3 or (s.oidc_sid is null and $2 is not null))
        returning a.name)
     select name, count(*)::int as sessions from ended group by name order by name`,
    [issuer, subject, sid],
  );
}
