import type { Queryable } from "@/lib/platform/database/db";

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
