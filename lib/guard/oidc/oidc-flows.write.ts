import type { Queryable } from "@/lib/platform/database/db";

/** A sign-in at the provider under way. */
export type OidcFlow = {
  /** SHA-256 of the secret that the browser has in a cookie: whoever is led to the answer of another one is refused. */
  browserHash: Uint8Array;
  nonce: string;
  /** Of PKCE, RFC 7636. */
  verifier: string;
  returnTo: string;
};

/** Those that have ended are deleted. */
export async function insertFlow(
  db: Queryable,
  { stateHash, browserHash, nonce, verifier, returnTo, msMax }: OidcFlow & { stateHash: Uint8Array; msMax: number },
): Promise<void> {
  await db.run("delete from oidc_flows where expires_at < now()");
  await db.run(
    `insert into oidc_flows (state_hash, browser_hash, nonce, verifier, return_to, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 ms')`,
    [stateHash, browserHash, nonce, verifier, returnTo, msMax],
  );
}

/** Each is taken once; null = there is none, it was taken, or it has ended. */
export async function takeFlow(db: Queryable, stateHash: Uint8Array): Promise<OidcFlow | null> {
  const [row] = await db.query<OidcFlow & { live: boolean }>(
    `delete from oidc_flows where state_hash = $1
     returning browser_hash as "browserHash", nonce, verifier, return_to as "returnTo", expires_at > now() as live`,
    [stateHash],
  );
  if (!row?.live) return null;
  const { live: _, ...flow } = row;
  return flow;
}
