import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import { KNOWN_BROWSER_MS } from "@/lib/guard/sessions/session.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/** Id of the browser with this secret, where it has signed in to the account of this name before; null = it has not. */
export async function findKnownBrowser(
  db: Queryable,
  { nameKey, secretHash }: { nameKey: string; secretHash: Uint8Array },
): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    `select b.id from known_browsers b join accounts a on a.id = b.account_id
      where b.secret_hash = $1 and a.name_key = $2 and b.expires_at > now()`,
    [secretHash, nameKey],
  );
  return row?.id ?? null;
}

/** Of one account. The one with the oldest sign-in goes first. */
const BROWSERS_MAX = 20;

/** Gives a browser a new secret, for each account that knows it. */
async function replaceBrowserSecret(tx: Tx, oldHash: Uint8Array, hash: Uint8Array): Promise<void> {
  await tx.run("update known_browsers set secret_hash = $2 where secret_hash = $1", [oldHash, hash]);
}

async function upsertKnownBrowser(
  tx: Tx,
  { account, hash, nowMs }: { account: string; hash: Uint8Array; nowMs: number },
): Promise<void> {
  await tx.run(
    `insert into known_browsers (id, secret_hash, account_id, expires_at) values ($1, $2, $3, now() + $4 * interval '1 ms')
     on conflict (secret_hash, account_id) do update set used_at = excluded.used_at, expires_at = excluded.expires_at`,
    [uuidv7(nowMs), hash, account, KNOWN_BROWSER_MS],
  );
  await tx.run(
    `delete from known_browsers where id in
       (select id from known_browsers where account_id = $1 order by used_at desc, id desc offset ${BROWSERS_MAX})`,
    [account],
  );
}

/**
 * Makes a browser known to an account that it has signed in to. `oldSecret`: by which accounts know it so far, null = by none.
 * Returns its new secret, which is stored nowhere.
 */
export async function rememberBrowser(
  tx: Tx,
  { account, oldSecret, nowMs }: { account: string; oldSecret: string | null; nowMs: number },
): Promise<string> {
  const { secret, hash } = newSecret();
  if (oldSecret !== null) await replaceBrowserSecret(tx, hashOf(oldSecret), hash);
  await upsertKnownBrowser(tx, { account, hash, nowMs });
  return secret;
}
