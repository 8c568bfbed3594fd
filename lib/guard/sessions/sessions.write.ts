import type { Queryable, Tx } from "@/lib/platform/database/db";
import { SEEN_EVERY_MS } from "./session.pure";

export type NewSession = {
  id: string;
  secretHash: Uint8Array;
  account: string;
  means: "password" | "oidc" | "link";
  msMax: number;
  address: string | null;
  agent: string | null;
  wrongCodes: number;
  /** `sid` of the OpenID provider. */
  oidcSid: string | null;
  /** See `sealIdToken`. */
  idToken: Uint8Array | null;
};

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.run(
    `insert into sessions (id, secret_hash, account_id, means, expires_at, address, agent, oidc_sid, id_token, wrong_codes)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms', $6, $7, $8, $9, $10)`,
    [
      session.id,
      session.secretHash,
      session.account,
      session.means,
      session.msMax,
      session.address,
      session.agent?.slice(0, 300) ?? null,
      session.oidcSid,
      session.idToken,
      session.wrongCodes,
    ],
  );
}

/** At most once a minute; of several requests at once one writes. */
export async function touchSession(db: Queryable, id: string): Promise<void> {
  await db.query("update sessions set seen_at = now() where id = $1 and seen_at < now() - $2 * interval '1 ms'", [
    id,
    SEEN_EVERY_MS,
  ]);
}

/** Ends the session of a secret. Returns the account; null = there was none. */
export async function deleteSession(tx: Tx, secretHash: Uint8Array): Promise<string | null> {
  const [row] = await tx.query<{ account: string }>(
    "delete from sessions where secret_hash = $1 returning account_id as account",
    [secretHash],
  );
  return row?.account ?? null;
}
