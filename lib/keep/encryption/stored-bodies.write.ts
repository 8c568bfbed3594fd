import type { Queryable, Tx } from "@/lib/platform/database/db";
import { bodyColumns, bounceColumns, openParts, openPayload } from "@/lib/platform/sealing/sealed-rows";
import type { Opener } from "@/lib/platform/sealing/sealing";

/** Events of one transaction, and about the bytes of what arrived first of them. */
const EVENTS_MAX = 200;
const BYTES_MAX = 8 * 1024 * 1024;

/**
 * The next events of the store, the oldest first: some of those in (`after`, `before`). Both are bounds of the index: with
 * `$1 is null or id > $1` a plan that is kept reads all days before `after`.
 */
export async function nextEvents(
  db: Queryable,
  { after, before }: { after: string | null; before: string },
): Promise<string[]> {
  const rows = await db.query<{ id: string; bytes: number }>(
    `select id, octet_length(payload) as bytes from dlq_event_bodies
      where id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') and id < $2 order by id limit ${EVENTS_MAX}`,
    [after, before],
    { name: "encryption-events" },
  );
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return index > 0 && bytes > BYTES_MAX;
  });
  return (end < 0 ? rows : rows.slice(0, end)).map(({ id }) => id);
}

/**
 * The youngest event from the id `from` on of which a body is not stored as this process is configured; null = there is none. It
 * reads all bodies from there on.
 */
export async function youngestOther(tx: Tx, from: string): Promise<string | null> {
  const youngest = Object.keys(TABLES).map(
    (table) => `(select id from ${table} where id >= $1 and (data_key is null) = $2 order by id desc limit 1)`,
  );
  const [row] = await tx.query<{ id: string }>(`${youngest.join(" union all ")} order by id desc limit 1`, [
    from,
    tx.sealing.seals,
  ]);
  return row?.id ?? null;
}

type StoredRow = {
  id: string;
  /** Of the revision, or of the bounce. */
  number: number;
  payload: Buffer | null;
  headers: unknown;
  errorDetail: string | null;
  dataKey: string | null;
  sealed: Buffer | null;
};

/** What differs between the tables of bodies: the column of the number, and the two that not all have. */
const TABLES = {
  dlq_event_bodies: { number: null, payload: true, stack: true },
  event_revisions: { number: "revision", payload: true, stack: false },
  event_bounces: { number: "bounce", payload: false, stack: true },
} as const;
type Table = keyof typeof TABLES;

export type Restored = { changed: number; unreadable: number };

/**
 * Stores the bodies of these events as this process is configured: encrypted, or as they are. A row that another process changes
 * meanwhile is left to it.
 */
export async function storeAsConfigured(tx: Tx, ids: readonly string[]): Promise<Restored> {
  const done = { changed: 0, unreadable: 0 };
  for (const table of Object.keys(TABLES) as Table[]) {
    const rows = await readOthers(tx, table, ids);
    if (rows.length === 0) continue;
    const open = await tx.sealing.opener(
      tx,
      rows.map(({ dataKey }) => dataKey),
    );
    const columns = rows.flatMap((row) => columnsOf(tx, table, open, row) ?? []);
    done.unreadable += rows.length - columns.length;
    done.changed += await update(tx, table, columns);
  }
  return done;
}

/** Rows that are not as configured. */
function readOthers(tx: Tx, table: Table, ids: readonly string[]): Promise<StoredRow[]> {
  const { number, payload, stack } = TABLES[table];
  return tx.query<StoredRow>(
    `select id, ${number ?? "1"} as number, ${payload ? "payload" : "null::bytea as payload"}, headers,
            ${stack ? "error_detail" : "null::text"} as "errorDetail", data_key as "dataKey", sealed
       from ${table} where id = any($1::uuid[]) and (data_key is null) = $2`,
    [ids, tx.sealing.seals],
    { name: `encryption-read-${table}` },
  );
}

type NewColumns = Omit<StoredRow, "headers" | "payload" | "sealed"> & {
  headers: string;
  payload: Uint8Array | null;
  sealed: Uint8Array | null;
};

/** null = it cannot be decrypted. */
function columnsOf(tx: Tx, table: Table, open: Opener, row: StoredRow): NewColumns | null {
  const { id, number, dataKey } = row;
  const revision = { id, revision: number };
  const parts = openParts(open, table === "event_bounces" ? { id, bounce: number } : revision, row);
  const payload = row.payload && openPayload(open, revision, { dataKey, payload: row.payload });
  if ((parts !== null && "fault" in parts) || (payload !== null && "fault" in payload)) return null;
  const { headers, errorDetail } = parts ?? row;
  return payload === null
    ? { id, number, payload, ...bounceColumns(tx.sealing, { id, bounce: number }, { headers, errorDetail }) }
    : { id, number, ...bodyColumns(tx.sealing, revision, { payload, headers, errorDetail }) };
}

async function update(tx: Tx, table: Table, rows: readonly NewColumns[]): Promise<number> {
  if (rows.length === 0) return 0;
  const { number, payload, stack } = TABLES[table];
  return tx.run(
    `update ${table} t
        set headers = w.headers, data_key = w.data_key, sealed = w.sealed
            ${payload ? ", payload = w.payload" : ""} ${stack ? ", error_detail = w.error_detail" : ""}
       from unnest($1::uuid[], $2::int[], $3::bytea[], $4::jsonb[], $5::text[], $6::uuid[], $7::bytea[])
              as w (id, number, payload, headers, error_detail, data_key, sealed)
      where t.id = any($1::uuid[]) and t.id = w.id ${number === null ? "" : `and t.${number} = w.number`}
        and (t.data_key is null) = $8`,
    [
      rows.map(({ id }) => id),
      rows.map((row) => row.number),
      rows.map((row) => row.payload),
      rows.map(({ headers }) => headers),
      rows.map(({ errorDetail }) => errorDetail),
      rows.map(({ dataKey }) => dataKey),
      rows.map(({ sealed }) => sealed),
      tx.sealing.seals,
    ],
    { name: `encryption-update-${table}` },
  );
}
