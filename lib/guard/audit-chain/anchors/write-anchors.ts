import { type AnchorPlace, anchorLine } from "@/lib/guard/audit-chain/anchors/anchor-places";
import { readHead } from "@/lib/guard/audit-chain/head.read";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7, uuidv7LowerBound } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";

export type AnchorDeps = {
  db: Db;
  clock: Clock;
  places: readonly AnchorPlace[];
  everyMs: number;
};

/**
 * Writes the end of the chain to each place where that is due. A place that refuses keeps no other place back; it is tried
 * again in the next round. Rejects with the errors of all that refused. Two workers may both write: that does no harm.
 */
export async function writeAnchors({ db, clock, places, everyMs }: AnchorDeps): Promise<void> {
  const head = await readHead(db);
  if (head === null) return;
  const errors: unknown[] = [];
  for (const { place, write } of places) {
    const nowMs = clock.wallMs();
    if (nowMs < (await lastAnchorMs(db, place, nowMs)) + everyMs) continue;
    const id = uuidv7(nowMs);
    const at = iso(nowMs);
    try {
      const day = at.slice(0, 10);
      await write(anchorLine(head, at), `${day}/${id}`);
      await db.run(
        `insert into audit_anchors (id, place, seq, chain_hash, at)
         values ($1, $2, $3, decode($4, 'hex'), to_timestamp($5::float8 / 1000))`,
        [id, place, head.seq, head.chainHash, nowMs],
      );
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "the end of the audit could not be anchored everywhere");
}

/** An anchor in the future was written before the clock was set back. */
async function lastAnchorMs(db: Db, place: string, nowMs: number): Promise<number> {
  const [row] = await db.query<{ at: number }>(
    "select at from audit_anchors where place = $1 and id < $2 order by id desc limit 1",
    [place, uuidv7LowerBound(nowMs + 1)],
  );
  return row?.at ?? Number.NEGATIVE_INFINITY;
}
