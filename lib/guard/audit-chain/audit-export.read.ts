import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import type { AuditQuery } from "@/lib/guard/audit/audit-query.shapes";
import type { ChainHead } from "@/lib/guard/audit-chain/chain.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

const PAGE = 500;

/** `seal` null = it waits for its seal. */
export type ExportedEntry = AuditOut & { seal: ChainHead | null };

/** The entries of the list, in its order and with its masks, a page in memory at a time. */
export async function* exportAudit(
  db: Queryable,
  viewer: Viewer,
  query: AuditQuery,
): AsyncGenerator<ExportedEntry[], void> {
  assertMay(viewer, "export");
  for (let cursor = query.cursor; ; ) {
    const page = await listAudit(db, viewer, { ...query, cursor, limit: PAGE });
    const seals = await readSeals(
      db,
      page.items.map(({ id }) => id),
    );
    yield page.items.map((item) => ({ ...item, seal: seals.get(item.id) ?? null }));
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

/** The last seal of each entry: after a forget it is another one. */
async function readSeals(db: Queryable, ids: readonly string[]): Promise<Map<string, ChainHead>> {
  const rows = await db.query<ChainHead & { id: string }>(
    `select distinct on (entry_id) entry_id as id, seq, encode(chain_hash, 'hex') as "chainHash"
       from audit_seals where entry_id = any($1::uuid[]) and kind <> 'subjects' order by entry_id, seq desc`,
    [ids],
    { name: "audit-seals-of" },
  );
  return new Map(rows.map(({ id, ...seal }) => [id, seal]));
}
