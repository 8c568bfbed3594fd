import type { Parking } from "@/lib/intake/park.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import type { FlowKind } from "@/lib/states/flow.pure";

/** What an arrival that became no event was. The others are counted where they are stored, as `parked` and `bounced`. */
export type NotParked = Extract<FlowKind, "duplicate" | "dropped" | "unstored" | "rejected">;
export type CountedArrival = { kind: NotParked; parking: Pick<Parking, "sourceId" | "group" | "letter"> };

/** Counts arrivals in the flow of the minute: one statement for a batch, and none for a batch whose events are all new. */
export async function countNotParked(tx: Tx, arrivals: readonly CountedArrival[], nowMs: number): Promise<void> {
  if (arrivals.length === 0) return;
  await tx.run(
    `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC'), source_id, error_code, fingerprint, kind, count(*)
       from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) as w (source_id, fingerprint, error_code, kind)
      group by source_id, error_code, fingerprint, kind`,
    [
      nowMs,
      arrivals.map(({ parking }) => parking.sourceId),
      arrivals.map(({ parking }) => parking.group.fingerprint),
      arrivals.map(({ parking }) => parking.letter.errorCode),
      arrivals.map(({ kind }) => kind),
    ],
    { name: "count-not-parked" },
  );
}

type RejectedArrival = Pick<Parking, "group" | "letter"> & { source: string };

/** Counts an arrival of which the store refused a value: its transaction is gone, so this is a statement of its own. */
export async function countRejected(db: Db, { source, group, letter }: RejectedArrival, nowMs: number): Promise<void> {
  await db.run(
    `insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC'), id, $3, $4, 'rejected', 1 from sources where name = $2`,
    [nowMs, source, letter.errorCode, group.fingerprint],
    { name: "count-rejected" },
  );
}
