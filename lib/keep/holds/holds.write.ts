import type { StoredHold } from "@/lib/keep/holds/holds.read";
import type { Tx } from "@/lib/platform/database/db";

export type NewHold = StoredHold & {
  id: string;
  fromMs: number | null;
  toMs: number | null;
  reason: string;
  createdBy: string;
  atMs: number;
};

export async function insertHold(tx: Tx, hold: NewHold): Promise<void> {
  const time = (n: number) => `to_timestamp($${n}::float8 / 1000)`;
  await tx.run(
    `insert into legal_holds (id, scope, value, tag, aggregate_type, source, from_at, to_at, reason, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, ${time(7)}, ${time(8)}, $9, $10, ${time(11)})`,
    [
      ...[hold.id, hold.scope, hold.value, hold.tag, hold.aggregateType, hold.source, hold.fromMs, hold.toMs],
      ...[hold.reason, hold.createdBy, hold.atMs],
    ],
  );
}

/** Lifts a hold in force by compare-and-set. null = no hold with this id is in force. */
export async function endHold(
  tx: Tx,
  lift: { id: string; actor: string; reason: string; atMs: number },
): Promise<StoredHold | null> {
  const [row] = await tx.query<StoredHold>(
    `update legal_holds set lifted_at = to_timestamp($4::float8 / 1000), lifted_by = $2, lift_reason = $3
      where id = $1 and lifted_at is null
     returning scope, value, tag, aggregate_type as "aggregateType", source`,
    [lift.id, lift.actor, lift.reason, lift.atMs],
  );
  return row ?? null;
}
