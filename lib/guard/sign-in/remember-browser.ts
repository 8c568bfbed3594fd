import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import type { Tx } from "@/lib/platform/database/db";
import { replaceBrowserSecret, upsertKnownBrowser } from "./known-browsers.write";

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
