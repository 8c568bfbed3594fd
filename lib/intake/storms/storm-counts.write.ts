import type { Parking } from "@/lib/intake/park.write";
import type { Tx } from "@/lib/platform/database/db";

/** Minute and groups as a statement has them: `$1` is within the minute, `$2` and `$3` are sources and fingerprints. */
const MINUTE = "date_trunc('minute', to_timestamp($1::float8 / 1000), 'UTC')";

export const groupKey = (sourceId: string, fingerprint: string) => `${sourceId}${fingerprint}`;

/**
 * How many events of these groups arrived in the minute of `nowMs`, stored or not, by `groupKey`. Transactions that are under way
 * are not counted: of two at the same time both may take the same places.
 */
export async function readMinute(tx: Tx, parkings: readonly Parking[], nowMs: number): Promise<Map<string, number>> {
  const groups = new Map(parkings.map((one) => [groupKey(one.sourceId, one.group.fingerprint), one]));
  const rows = await tx.query<{ sourceId: string; fingerprint: string; n: number }>(
    `with groups as (select * from unnest($2::uuid[], $3::text[]) as g (source_id, fingerprint)),
     counted as (
       select source_id, fingerprint, n from dlq_flow
        where minute = ${MINUTE} and kind in ('parked', 'unstored') and (source_id, fingerprint) in (select * from groups)
       union all
       select m.source_id, m.fingerprint, m.parked + m.unstored from dlq_group_flow_minutes m
         join groups g on g.fingerprint = m.fingerprint and g.source_id = m.source_id where m.at = ${MINUTE})
     select source_id as "sourceId", fingerprint, sum(n)::bigint as n from counted group by 1, 2`,
    [
      nowMs,
      [...groups.values()].map(({ sourceId }) => sourceId),
      [...groups.values()].map(({ group }) => group.fingerprint),
    ],
    { name: "read-minute" },
  );
  return new Map(rows.map(({ sourceId, fingerprint, n }) => [groupKey(sourceId, fingerprint), n]));
}
