import type { Parking } from "@/lib/intake/park.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { bytesHash } from "@/lib/repair/revisions/revise-events.write";

export type OpenSend = { id: string; redriveId: string; attempt: number };

/** Letters without id or mark have come that may be of these sends, whose receipts are not committed yet. */
export class ReceiptOutstanding extends Error {
  override readonly name = "ReceiptOutstanding";
  readonly sends: readonly OpenSend[];
  constructor(sends: readonly OpenSend[]) {
    super(`${sends.length} sends have no receipt yet`);
    this.sends = sends;
  }
}

/** Those of the sends that have not ended. */
export async function stillOpen(db: Db, sends: readonly OpenSend[]): Promise<OpenSend[]> {
  return db.query<OpenSend>(
    `select t.id, t.redrive_id as "redriveId", t.attempt
       from unnest($1::uuid[], $2::uuid[], $3::int[]) as w (id, redrive_id, attempt)
       join open_sends t using (id, redrive_id, attempt)`,
    [sends.map(({ id }) => id), sends.map(({ redriveId }) => redriveId), sends.map(({ attempt }) => attempt)],
    { name: "still-open" },
  );
}

/**
 * Dead letters whose failed record is one that Parkade sent, with the event and the redrive. Such a letter has lost id and
 * marks on its way. Record, key and bytes must be those that were sent: a topic that was made anew counts its offsets from 0.
 * A letter that is stored as an event of its own stays one. `mayWait`: throws ReceiptOutstanding when one of the letters
 * without a receipt has key and bytes of a send that has not ended.
 */
export async function ofSentRecords<P extends Parking>(
  tx: Tx,
  parkings: readonly P[],
  { mayWait }: { mayWait: boolean },
): Promise<readonly P[]> {
  const lost = parkings.filter(({ letter }) => letter.failedRecord !== undefined);
  if (lost.length === 0) return parkings;
  type Sent = { letterId: string; eventId: string; producer: string } & OpenSend;
  // Receipts and open sends in one snapshot: a send that ends between two statements would be in neither.
  const rows = await tx.query<Sent & { open: boolean }>(
    `with letters as materialized (
       select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::int[])
                as w (id, source_id, event_id, record, key, hash, bytes)
        where not exists (
                select 1 from event_keys k where k.event_id = w.event_id and k.source_id = w.source_id and k.producer = '')
     ), receipts as materialized (
       select w.id as letter_id, w.key, w.hash, e.event_id, e.producer, i.id, i.redrive_id, i.attempts, i.revision, i.finished_at
         from letters w
         join redrive_items i on i.sent_record = w.record and i.source_id = w.source_id
         join dlq_events e on e.id = i.id
     ), sends as materialized (
       select t.id, t.redrive_id, t.attempt, t.revision, i.source_id
         from open_sends t cross join lateral (select o.source_id from open_items o where o.id = t.id offset 0) i
        where $8 and i.source_id in (select source_id from letters)
     )
     select t.letter_id as "letterId", t.event_id as "eventId", t.producer, t.id, t.redrive_id as "redriveId", t.attempts as attempt,
            false as open, t.finished_at as at
       from receipts t
       join dlq_event_bodies b on b.id = t.id
       left join event_revisions r on r.id = b.id and r.revision = t.revision
      where sha256(coalesce(r.payload, b.payload)) = t.hash
        and b.origin ->> 'key' is not distinct from t.key
     union all
     select w.id, w.event_id, '', t.id, t.redrive_id, t.attempt, true, null
       from sends t
       join dlq_event_bodies b on b.id = t.id
       left join event_revisions r on r.id = b.id and r.revision = t.revision
       join letters w on w.source_id = t.source_id and w.key is not distinct from b.origin ->> 'key'
                     and w.bytes = octet_length(coalesce(r.payload, b.payload))
      where sha256(coalesce(r.payload, b.payload)) = w.hash
      order by at`,
    [
      lost.map(({ id }) => id),
      lost.map(({ sourceId }) => sourceId),
      lost.map(({ letter }) => letter.eventId),
      lost.map(({ letter }) => letter.failedRecord),
      lost.map(({ letter }) => letter.origin.key ?? null),
      lost.map(({ letter }) => bytesHash(letter.payload)),
      lost.map(({ letter }) => letter.payload.length),
      mayWait,
    ],
    { name: "sent-records" },
  );
  const found = new Map(rows.filter(({ open }) => !open).map((row) => [row.letterId, row]));
  const outstanding = rows.filter(({ open, letterId }) => open && !found.has(letterId));
  if (outstanding.length > 0) throw new ReceiptOutstanding(outstanding);
  return parkings.map((parking) => {
    const sent = found.get(parking.id);
    if (sent === undefined) return parking;
    const redrive = { redriveId: sent.redriveId, attempt: Math.max(sent.attempt, 1) };
    const { eventId, producer } = sent;
    return { ...parking, letter: { ...parking.letter, eventId, producer: producer || undefined, redrive } };
  });
}
