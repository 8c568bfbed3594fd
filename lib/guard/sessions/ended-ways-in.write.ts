import type { Db, Tx } from "@/lib/platform/database/db";
import { SESSION_IDLE_MS } from "./session.pure";

/** A token that has ended is listed for a while: its owner sees that it has. */
const TOKEN_KEPT = "30 days";

/** Removes sessions, links, tries, tokens and known browsers that have ended: addresses and browsers of people stand in them. */
export async function removeEndedWaysIn(db: Db): Promise<void> {
  await db.run("delete from sessions where expires_at < now() or seen_at < now() - $1 * interval '1 ms'", [
    SESSION_IDLE_MS,
  ]);
  await db.run("delete from known_browsers where expires_at < now()");
  await db.run("delete from account_links where expires_at < now()");
  await db.run("delete from oidc_flows where expires_at < now()");
  await db.run("delete from oidc_logouts where expires_at < now()");
  await db.run("delete from device_sign_ins where expires_at < now()");
  await db.run("delete from sign_in_tries where last_at < now() - interval '1 hour' and until_at < now()");
  await db.run(
    `delete from api_tokens where least(expires_at, coalesce(revoked_at, expires_at)) < now() - interval '${TOKEN_KEPT}'`,
  );
}

/**
 * Ends all access that a restored backup contains: a session or token that was ended after the backup would work again.
 * Returns the number of revoked tokens.
 */
export async function endWaysIn(tx: Tx, by: string): Promise<number> {
  for (const table of ["sessions", "known_browsers", "account_links", "oidc_flows", "device_sign_ins", "sign_in_tries"])
    await tx.run(`delete from ${table}`);
  return tx.run("update api_tokens set revoked_at = now(), revoked_by = $1 where revoked_at is null", [by]);
}
