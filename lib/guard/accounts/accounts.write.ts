import { nameKey } from "@/lib/guard/viewer/actor.pure";
import type { Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { sqlState } from "@/lib/platform/postgres-pool";
import type { NewAccount } from "./accounts.shapes";

/** Throws DomainError `name-taken` when another account has the name, or one that looks like it. */
export async function insertAccount(
  tx: Tx,
  { id, kind, name, email, role, actions, sources, by }: NewAccount & { id: string; by: string },
): Promise<void> {
  try {
    await tx.run(
      `insert into accounts (id, kind, name, name_key, email, role, actions, sources, created_by)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [id, kind, name, nameKey(name), email ?? null, role, actions ?? [], sources ?? null, by],
    );
  } catch (error) {
    if (sqlState(error) !== "23505") throw error;
    throw new DomainError(
      "name-taken",
      "An account has this name, or one that differs only in case, accents or spaces: choose another",
      {
        fields: [{ field: "name", detail: "is taken" }],
      },
    );
  }
}

/** Resets the count of wrong codes. Discards a second factor that was not confirmed: whoever knew the old password may have its secret. */
export async function setPassword(tx: Tx, id: string, hash: string): Promise<void> {
  await tx.run(
    `update accounts set password = $2, updated_at = now(), wrong_codes = 0, totp_secret = case when totp_since is not null then totp_secret end
      where id = $1`,
    [id, hash],
  );
}

/**
 * Ends what the account could be used by; `exceptSession` stays. No browser is known to the account from now on. When `tokensBy` names who does it, its tokens are revoked too, and
 * programs that it confirmed get none.
 */
export async function endAccess(
  tx: Tx,
  id: string,
  { exceptSession = null, tokensBy = null }: { exceptSession?: string | null; tokensBy?: string | null },
): Promise<number> {
  const ended = await tx.run("delete from sessions where account_id = $1 and id is distinct from $2::uuid", [
    id,
    exceptSession,
  ]);
  await tx.run("delete from known_browsers where account_id = $1", [id]);
  if (tokensBy !== null) {
    await tx.run(
      "update api_tokens set revoked_at = now(), revoked_by = $2 where account_id = $1 and revoked_at is null",
      [id, tokensBy],
    );
    await tx.run("delete from device_sign_ins where account_id = $1", [id]);
  }
  return ended;
}

/** Serialises whatever could take the last administrator away, until the transaction ends. */
export async function lockAdmins(tx: Tx): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('parkade accounts', 0))");
}

/** Whether somebody could sign in and change accounts. `passwords`: people sign in by them. */
export async function hasAdmin(tx: Tx, { passwords }: { passwords: boolean }): Promise<boolean> {
  const [row] = await tx.query<{ found: boolean }>(
    `select exists (select from accounts where kind = 'person' and role = 'admin' and sources is null and disabled_at is null
                       and (($1 and password is not null) or oidc_subject is not null)) as found`,
    [passwords],
  );
  return row!.found;
}
