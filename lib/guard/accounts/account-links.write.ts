import type { Queryable, Tx } from "@/lib/platform/database/db";

export type LinkPurpose = "setup" | "invitation" | "reset";
export type LinkRow = { purpose: LinkPurpose; account: string | null; name: string | null; expiresAt: number };

/** A new link makes the earlier ones of its account void. */
export async function replaceLink(
  tx: Tx,
  {
    hash,
    purpose,
    account,
    by,
    msMax,
  }: { hash: Uint8Array; purpose: LinkPurpose; account: string | null; by: string; msMax: number },
): Promise<number> {
  await tx.run("delete from account_links where account_id is not distinct from $1 or expires_at < now()", [account]);
  const [row] = await tx.query<{ expiresAt: number }>(
    `insert into account_links (hash, purpose, account_id, created_by, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms') returning expires_at as "expiresAt"`,
    [hash, purpose, account, by, msMax],
  );
  return row!.expiresAt;
}

const LINK = `select l.purpose, l.account_id as account, a.name, l.expires_at as "expiresAt"
  from account_links l left join accounts a on a.id = l.account_id
 where l.hash = $1 and l.expires_at > now() and a.disabled_at is null`;

export async function readLink(db: Queryable, hash: Uint8Array): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(LINK, [hash]);
  return row ?? null;
}

/** Takes the link away: of two uses at once one gets it. */
export async function takeLink(tx: Tx, hash: Uint8Array): Promise<LinkRow | null> {
  const [row] = await tx.query<LinkRow>(`${LINK} for update of l`, [hash]);
  if (row === undefined) return null;
  await tx.run("delete from account_links where hash = $1", [hash]);
  return row;
}
