import type { Db, Queryable } from "@/lib/platform/database/db";

/** A consumer renews its hold every 5 s. After this time without it another one may take the log. */
const HELD_S = 20;

/** `offset` -1: nothing was read. `mark`: hash of the message's body. */
export type StoredPosition = { offset: bigint; mark: string | null };
type Row = { offset: string | number | null; mark: string | null };
/** A log of a source, and the consumer that reads it. */
export type HeldLog = { sourceId: string; log: string; holder: string };

const stored = ({ offset, mark }: Row): StoredPosition | null =>
  offset === null ? null : { offset: BigInt(offset), mark };

/** Takes the log for `holder`, or keeps it. null: another one has it. */
export async function holdLog(
  db: Db,
  { sourceId, log, holder }: HeldLog,
): Promise<{ position: StoredPosition | null } | null> {
  const [row] = await db.query<Row>(
    `insert into source_positions as held (source_id, log, holder, held_until)
     select id, $2, $3, now() + interval '${HELD_S} s' from sources where id = $1
     on conflict (source_id, log) do update set holder = excluded.holder, held_until = excluded.held_until
       where held.holder is null or held.holder = excluded.holder or held.held_until < now()
     returning read_to as offset, mark`,
    [sourceId, log, holder],
    { name: "hold-log" },
  );
  return row === undefined ? null : { position: stored(row) };
}

export async function releaseLog(db: Db, { sourceId, log, holder }: HeldLog): Promise<void> {
  const text = "update source_positions set holder = null where source_id = $1 and log = $2 and holder = $3";
  await db.run(text, [sourceId, log, holder]);
}

export async function readPosition(db: Queryable, sourceId: string, log: string): Promise<StoredPosition | null> {
  const text = "select read_to as offset, mark from source_positions where source_id = $1 and log = $2";
  const [row] = await db.query<Row>(text, [sourceId, log]);
  return row === undefined ? null : stored(row);
}

/**
 * Throws when the log was taken by another consumer meanwhile: a worker that wakes up late stores nothing, and moves no
 * position back.
 */
export async function writePosition(
  db: Queryable,
  { sourceId, log, holder }: HeldLog,
  { offset, mark }: StoredPosition,
): Promise<void> {
  const changed = await db.run(
    `update source_positions set read_to = $4, mark = $5, held_until = now() + interval '${HELD_S} s'
      where source_id = $1 and log = $2 and holder = $3`,
    [sourceId, log, holder, String(offset), mark],
    { name: "write-position" },
  );
  if (changed === 0) throw Object.assign(new Error(`another worker reads ${log}`), { code: "READ_BY_ANOTHER_WORKER" });
}
