import { KNOWN_BROWSER_MS } from "@/lib/guard/sessions/session.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/** Of one account. The one with the oldest sign-in goes first. */
const BROWSERS_MAX = 20;

/** Gives a browser a new secret, for each account that knows it. */
export async function replaceBrowserSecret(tx: Tx, oldHash: Uint8Array, hash: Uint8Array): Promise<void> {
  await tx.run("update known_browsers set secret_hash = $2 where secret_hash = $1", [oldHash, hash]);
}

/** Makes a browser known to an account, from now on. */
export async function upsertKnownBrowser(
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
