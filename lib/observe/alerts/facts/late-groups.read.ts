import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import type { GroupFact, WatchedGroup } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { groupsMeant, waitsForRules } from "@/lib/selection/aliases.sql";
import { PARKED } from "@/lib/states/state.sql";

const HOUR_MS = 3_600_000;
const ARRIVED = "parked + bounced + unstored";
/** Groups that had arrivals in the last hour, the most first: a storm of new groups is bounded here. */
const GROUPS_MAX = 2_000;

/**
 * A group counts with those for which it stands, also while they are being moved.
 *
 * Groups of a source of which something arrived in the last hour, and those of which an alert fires. The present run of a
 * group begins with its first arrival in that hour, or with its alert; where an alert has ended, with the first arrival after it.
 */
export async function readLateGroups(
  db: Queryable,
  watched: readonly WatchedGroup[],
  nowMs: number,
): Promise<GroupFact[]> {
  const rows = await db.query<Omit<GroupFact, "lastMs"> & { lastMs: number | null }>(
    `with named as materialized (
       select w.fingerprint, s.id as source_id, to_timestamp(w.since / 1000) as since, w.fires
         from unnest($2::text[], $3::text[], $4::float8[], $5::boolean[]) w (fingerprint, source, since, fires)
         join sources s on s.name = w.source),
     asked as (select * from named where fires),
     ended as (select fingerprint, source_id, max(since) as since from named where not fires group by 1, 2),
     late as materialized (
       select fingerprint, source_id, min(at) as run_since, max(at) as last, sum(n)::bigint as arrived from (
         select coalesce(a.target, f.fingerprint) as fingerprint, f.source_id, f.at, f.n from (
           select fingerprint, source_id, at, ${ARRIVED} as n from dlq_group_flow_minutes where at >= to_timestamp($1::float8 / 1000)
           union all
           select fingerprint, source_id, minute, n from dlq_flow
            where minute >= to_timestamp($1::float8 / 1000) and kind in ('parked', 'bounced', 'unstored')) f
           left join group_aliases a on a.fingerprint = f.fingerprint) flow
         left join ended using (fingerprint, source_id)
        where n > 0 and (ended.since is null or at > ended.since) group by 1, 2 order by 5 desc, 1 limit ${GROUPS_MAX}),
     chosen as (
       select coalesce(l.fingerprint, a.fingerprint) as fingerprint, coalesce(l.source_id, a.source_id) as source_id,
              least(l.run_since, a.since) as run_since, l.last, a.since, coalesce(l.arrived, 0) as arrived
         from late l full join asked a on a.fingerprint = l.fingerprint and a.source_id = l.source_id),
     waiting as materialized (
       select distinct o.error_code, l.source_id from dlq_groups o join dlq_group_levels l on l.fingerprint = o.fingerprint
        where ${waitsForRules("o")})
     select b.fingerprint, s.name as source, g.error_code as "errorCode", g.message_pattern as pattern,
            least(g.first_seen, (select min(o.first_seen) from group_aliases a join dlq_groups o on o.fingerprint = a.fingerprint
              where a.target = g.fingerprint and a.moved_at is null)) as "firstSeenMs",
            (g.error_code, b.source_id) in (select error_code, source_id from waiting) as "mayBeKnown", b.run_since as "runSinceMs", before.at as "beforeMs",
            coalesce(b.last, later.at) as "lastMs", greatest(b.arrived, later.n)::bigint as arrived,
            coalesce((select sum(l.n) from dlq_group_levels l
              where l.fingerprint = any(${groupsMeant("array[b.fingerprint]", { unmoved: true })})
                and l.source_id = b.source_id and l.status in ${PARKED}), 0)::bigint as parked
       from chosen b join sources s on s.id = b.source_id join dlq_groups g on g.fingerprint = b.fingerprint
       left join lateral (
         select h.at from dlq_group_flow_hours h
          where h.fingerprint = b.fingerprint and h.source_id = b.source_id and h.at < date_trunc('hour', b.run_since, 'UTC')
            and h.parked + h.bounced + h.unstored > 0 order by h.at desc limit 1) before on true
       left join lateral (
         select max(h.at) as at, sum(h.parked + h.bounced + h.unstored) as n from dlq_group_flow_hours h
          where b.since is not null and h.fingerprint = b.fingerprint and h.source_id = b.source_id
            and h.at >= date_trunc('hour', b.since, 'UTC') and h.parked + h.bounced + h.unstored > 0) later on true`,
    [
      nowMs - HOUR_MS,
      watched.map(({ fingerprint }) => fingerprint),
      watched.map(({ source }) => source),
      watched.map(({ sinceMs }) => sinceMs),
      watched.map(({ fires }) => fires),
    ],
    { name: "alert-groups" },
  );
  const masks = await readMasks(db);
  return rows.map((row) => ({
    ...row,
    pattern: maskText(row.pattern, masks.of(row.source)),
    lastMs: row.lastMs ?? row.runSinceMs,
  }));
}
