import type { Queryable } from "@/lib/platform/database/db";
import { SEAL_BYTES } from "@/lib/platform/sealing/sealed-bytes";
import type { Opener, Sealing, Unreadable } from "@/lib/platform/sealing/sealing";

/**
 * How bodies lie in their rows. `dataKey` null: as they are, and `sealed` is null. Else the payload is sealed, headers are empty, the
 * stack is null, and both are in `sealed`. Each is bound to its event and revision or bounce.
 */
type SealedColumns = { dataKey: string | null; sealed: Buffer | null };

/** `headers` is JSON text. */
type PartColumns = SealedColumns & { headers: string; errorDetail: string | null };
export type BodyColumns = PartColumns & { payload: Uint8Array };

type Parts = { headers: unknown; errorDetail: string | null };

/** A row of `dlq_event_bodies` (revision 1) or `event_revisions`. */
export type BodyPlace = { id: string; revision: number };
type BouncePlace = { id: string; bounce: number };

/** SQL: bytes of the payload, without those of its seal. */
export const payloadSize = (row: string) =>
  `(octet_length(${row}.payload) - case when ${row}.data_key is null then 0 else ${SEAL_BYTES} end)`;

function rowOf({ id, ...place }: BodyPlace | BouncePlace): string {
  return `${id.toLowerCase()}:${"bounce" in place ? `bounce-${place.bounce}` : place.revision}`;
}

/** A body as it is to be stored now. */
export function bodyColumns(
  sealing: Sealing,
  place: BodyPlace,
  { payload, ...parts }: Parts & { payload: Uint8Array },
): BodyColumns {
  if (!sealing.seals) return { ...asItIs(parts), payload };
  const row = rowOf(place);
  return { ...sealedParts(sealing, row, parts), payload: sealing.seal(`${row}:payload`, payload) };
}

/** What a bounce brought, as it is to be stored now. */
export function bounceColumns(sealing: Sealing, place: BouncePlace, parts: Parts): PartColumns {
  return sealing.seals ? sealedParts(sealing, rowOf(place), parts) : asItIs(parts);
}

function asItIs({ headers, errorDetail }: Parts): PartColumns {
  return { dataKey: null, sealed: null, headers: JSON.stringify(headers), errorDetail };
}

function sealedParts(sealing: Sealing, row: string, { headers, errorDetail }: Parts): PartColumns {
  const parts = Buffer.from(JSON.stringify({ headers, errorDetail }));
  return {
    dataKey: sealing.sealingKeyId(),
    sealed: sealing.seal(`${row}:parts`, parts),
    headers: "[]",
    errorDetail: null,
  };
}

export function openPayload(
  open: Opener,
  place: BodyPlace,
  { dataKey, payload }: Pick<SealedColumns, "dataKey"> & { payload: Buffer },
): Buffer | Unreadable {
  return dataKey === null ? payload : open(dataKey, `${rowOf(place)}:payload`, payload);
}

/** null = they lie in their own columns. */
export function openParts<Headers>(
  open: Opener,
  place: BodyPlace | BouncePlace,
  { dataKey, sealed }: SealedColumns,
): { headers: Headers; errorDetail: string | null } | Unreadable | null {
  if (dataKey === null || sealed === null) return null;
  const parts = open(dataKey, `${rowOf(place)}:parts`, sealed);
  return "fault" in parts ? parts : JSON.parse(parts.toString("utf8"));
}

/** Rows of bodies with payload and headers as they arrived. What cannot be opened has a `fault` and neither of them. */
export async function openBodies<Row extends SealedColumns & { id: string; payload: Buffer; headers: unknown }>(
  db: Queryable,
  rows: readonly (Row & { revision: number })[],
): Promise<(Row | (Pick<Row, "id"> & Unreadable))[]> {
  if (rows.every(({ dataKey }) => dataKey === null)) return [...rows];
  const open = await db.sealing.opener(
    db,
    rows.map(({ dataKey }) => dataKey),
  );
  return rows.map((row) => {
    // Not the row itself: it may have a column `bounce`.
    const place = { id: row.id, revision: row.revision };
    const payload = openPayload(open, place, row);
    const parts = openParts<Row["headers"]>(open, place, row);
    if ("fault" in payload) return { id: row.id, fault: payload.fault };
    if (parts === null) return { ...row, payload };
    return "fault" in parts ? { id: row.id, fault: parts.fault } : { ...row, payload, headers: parts.headers };
  });
}
