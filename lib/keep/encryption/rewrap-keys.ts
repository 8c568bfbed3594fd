import { appendAudit } from "@/lib/guard/audit/audit.write";
import { beginCount } from "@/lib/keep/encryption/body-counts.write";
import { ENCRYPTION } from "@/lib/keep/encryption/encrypt-stored";
import { otherKeys, storeRewrapped } from "@/lib/keep/encryption/encryption-progress.write";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";

const PAGE = 500;

/**
 * Wraps each data key with the current master key, so that a former one can be taken away. Bodies stay as they are. Data keys
 * whose master key is missing stay too: they are logged by its id. Returns how many it has wrapped.
 */
export async function rewrapKeys({ db, clock, log }: { db: Db; clock: Clock; log: Log }): Promise<number> {
  const { sealing } = db;
  const masterKey = sealing.masterKey;
  if (masterKey === null) return 0;
  let [after, total]: [string | null, number] = [null, 0];
  const missing = new Set<string>();
  for (;;) {
    const page = await db.transaction(async (tx) => {
      const keys = await otherKeys(tx, { masterKey, after, limit: PAGE });
      const rewrapped = keys.flatMap((key) => {
        const wrapped = sealing.rewrap(key);
        if (wrapped !== null && !("fault" in wrapped)) return [{ id: key.id, was: key.masterKey, wrapped }];
        missing.add(key.masterKey);
        return [];
      });
      const from = await storeRewrapped(tx, masterKey, rewrapped);
      if (from.length > 0) {
        await beginCount(tx);
        await appendAudit(tx, {
          actor: ENCRYPTION.name,
          action: "encryption.rewrapped",
          subjectKind: "setting",
          subjectId: null,
          before: { keys: [...new Set(from)].sort() },
          after: { key: masterKey },
          count: from.length,
          atMs: clock.wallMs(),
        });
      }
      return { last: keys.length === PAGE ? keys.at(-1)!.id : null, count: from.length };
    });
    total += page.count;
    if (page.last === null) break;
    after = page.last;
  }
  if (missing.size > 0) {
    const ids = [...missing].sort();
    log.warn({ keys: ids }, "encryption keys are missing or are others than before: what they encrypt is unreadable");
  }
  return total;
}
