import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7TimeMs } from "@/lib/platform/ids";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";

/** In counts of bodies by the id of their master key: those that are not encrypted, and those without a data key. No id is one of these. */
export const CLEAR = "";
export const WITHOUT_KEY = "?";

/** How bodies are stored. `key`: the id of a master key. */
export type EncryptionStatus = {
  /** What this process does with a new body. */
  writes: "encrypted" | "clear";
  /**
   * All that this process has or that wrap a data key. `missing`: this process has no such key. `dataKeys`: those that it wraps;
   * `bodies`: null = not counted yet.
   */
  keys: { key: string; current: boolean; missing: boolean; dataKeys: number; bodies: number | null }[];
  /** Bodies that are not encrypted; null = not counted yet. */
  clearBodies: number | null;
  /** Bodies whose data key the store lacks: they are lost; null = not counted yet. */
  bodiesWithoutKey: number | null;
  countedAt: string | null;
  /** What a worker does with those that are stored otherwise; null = it has not begun. */
  older: {
    becomes: "encrypted" | "clear";
    upTo: string | null;
    ended: boolean;
    /** When the youngest of them is old enough to be taken; null = none is waited for. */
    waitsUntil: string | null;
    changed: number;
    unreadable: number;
  } | null;
};

type Row = {
  encrypts: boolean | null;
  cursor: string | null;
  changed: number;
  unreadable: number;
  ended: boolean;
  waitsUntilMs: number | null;
  counts: Record<string, number> | null;
  countedMs: number | null;
  keys: Record<string, number> | null;
};

/** It counts the bodies of every source. null = keys were never configured, or the viewer does not see every source. */
export async function readEncryption(db: Queryable, viewer: Viewer): Promise<EncryptionStatus | null> {
  if (sourceScope(viewer) !== null) return null;
  const [row] = await db.query<Row>(
    `select p.encrypts, p.cursor, p.changed, p.unreadable, p.ended_at is not null as ended,
            p.waits_until as "waitsUntilMs", p.counts, p.counted_at as "countedMs", k.keys
       from (select jsonb_object_agg(master_key, n) as keys
               from (select master_key, count(*) as n from data_keys group by 1) by_key) k
       left join encryption_progress p on true`,
    [],
    { name: "encryption-status" },
  );
  const { encrypts, cursor, changed, unreadable, ended, waitsUntilMs, counts, countedMs, keys } = row!;
  if (encrypts === null && keys === null && !db.sealing.configured) return null;
  const { masterKey } = db.sealing;
  const names = new Set([...Object.keys(keys ?? {}), ...db.sealing.masterKeys]);
  return {
    writes: masterKey === null ? "clear" : "encrypted",
    keys: [...names].sort().map((key) => ({
      key,
      current: key === masterKey,
      missing: !db.sealing.has(key),
      dataKeys: keys?.[key] ?? 0,
      bodies: counts && (counts[key] ?? 0),
    })),
    clearBodies: counts && (counts[CLEAR] ?? 0),
    bodiesWithoutKey: counts && (counts[WITHOUT_KEY] ?? 0),
    countedAt: isoOrNull(countedMs),
    older:
      encrypts === null
        ? null
        : {
            becomes: encrypts ? "encrypted" : "clear",
            upTo: cursor === null ? null : iso(uuidv7TimeMs(cursor)),
            ended,
            waitsUntil: isoOrNull(waitsUntilMs),
            changed,
            unreadable,
          },
  };
}
