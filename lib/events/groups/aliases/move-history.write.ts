import { arrivedEver } from "@/lib/events/groups/mutes/group-mutes.read";
import type { Tx } from "@/lib/platform/database/db";
import { hasEvents } from "@/lib/selection/aliases.sql";
import { ARRIVAL_KINDS, FLOW_KINDS, type FlowTable, GROUP_ARRIVALS, GROUP_FLOW } from "@/lib/states/flow-tables.sql";

/** A group and its alias target. `settled`: no open transaction can still park into the group by the old aliases. */
export type Moving = { fingerprint: string; target: string; reason: string; settled: boolean };

const GIVEN = "unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) g (fingerprint, target, reason, settled)";
const valuesOf = (moving: readonly Moving[]) => [
  moving.map(({ fingerprint }) => fingerprint),
  moving.map(({ target }) => target),
  moving.map(({ reason }) => reason),
  moving.map(({ settled }) => settled),
];

/** In one statement: an event that is parked meanwhile is seen together with its flow, and keeps the flow where it is. */
function moveFlow(): string {
  const moveIn = ({ table }: FlowTable, keys: string, kinds: readonly string[]) => `, gone_${table} as (
      delete from ${table} f using empty where f.fingerprint = empty.fingerprint returning f.*, empty.target),
    into_${table} as (
      insert into ${table} (${keys}, fingerprint, ${kinds.join(", ")})
      select ${keys}, target, ${kinds.map((kind) => `sum(${kind})`).join(", ")} from gone_${table} group by ${keys}, target
      on conflict (${keys}, fingerprint) do update
        set ${kinds.map((kind) => `${kind} = ${table}.${kind} + excluded.${kind}`).join(", ")})`;
  return `with empty as materialized (
      select g.* from ${GIVEN}
       where not ${hasEvents("g.fingerprint")}),
    logged as (update dlq_flow f set fingerprint = empty.target from empty where f.fingerprint = empty.fingerprint)
    ${GROUP_FLOW.map((table) => moveIn(table, "at, source_id, error_code", FLOW_KINDS)).join("")}
    ${GROUP_ARRIVALS.map((table) => moveIn(table, "at", ARRIVAL_KINDS)).join("")}
    select fingerprint, target, reason, settled from empty`;
}
const MOVE_FLOW = moveFlow();

/**
 * Where a group has been replaced by another (`rules`), its mutes go on in the other; a number of further arrivals counts
 * from what that one has had. Elsewhere the target keeps its own: a merge mutes nothing that was not muted.
 */
const MOVE_MUTES = `
  with moving as (select g.*, m.id, m.ended_at is null as open, m.source,
           row_number() over (partition by g.target, m.source, m.ended_at is null order by m.id desc) as n
      from ${GIVEN} join group_mutes m on m.fingerprint = g.fingerprint)
  update group_mutes m
     set fingerprint = moving.target,
         arrived_start = m.arrived_start + case when moving.open then ${arrivedEver("moving.target", "m.source")} else 0 end,
         ended_at = case when moving.open and not stays then now() else m.ended_at end,
         ended_because = case when moving.open and not stays then 'replaced' else m.ended_because end
    from moving cross join lateral (select moving.reason = 'rules' and moving.n = 1 and not exists (
           select from group_mutes o where o.fingerprint = moving.target and o.ended_at is null
              and coalesce(o.source, '') = coalesce(moving.source, '')) as stays) s
   where m.id = moving.id`;

/** A live alert goes on as that of the target, unless its rule has one about that already: then it ends as if its group were quiet. */
const MOVE_ALERTS = `
  with moving as (select g.*, a.id, a.state = 'resolved' as over, a.rule_id, g.target || '@' || a.source as key,
           row_number() over (partition by a.rule_id, g.target, a.source, a.state = 'resolved' order by a.id) as n
      from ${GIVEN} join alerts a on a.subject ->> 'fingerprint' = g.fingerprint)
  update alerts a set subject = a.subject || jsonb_build_object('fingerprint', moving.target),
         key = case when moving.over then a.key else coalesce(moving.key, a.key) end
    from moving
   where a.id = moving.id and (moving.over or (moving.n = 1 and not exists (
     select from alerts o where o.rule_id = moving.rule_id and o.key = moving.key and o.state <> 'resolved')))`;

/**
 * A batch that finds its group recent does not touch its row (`touchGroups`): the row of a group leaves only when it has
 * not been recent for longer than a batch takes.
 */
const QUIET = "1 minute";

/**
 * Moves what is stored of groups without events: their flow, mutes, alerts and times; a group that has events is left as it
 * is. Those that are settled leave with their row; the others are looked at once more. Returns the groups that have events. The
 * caller holds the rollups.
 */
export async function moveHistory(tx: Tx, moving: readonly Moving[]): Promise<Moving[]> {
  // In one order, as `touchGroups` locks them.
  await tx.query("select from dlq_groups where fingerprint = any($1::text[]) order by fingerprint for update", [
    [...new Set(moving.flatMap(({ fingerprint, target }) => [fingerprint, target]))],
  ]);
  await tx.run(MOVE_MUTES, valuesOf(moving));
  const empty = await tx.query<Moving>(MOVE_FLOW, valuesOf(moving));
  if (empty.length === 0) return [...moving];
  const values = valuesOf(empty);
  await tx.run(MOVE_ALERTS, values);
  await tx.run(
    `with given as (select * from ${GIVEN}),
     times as (
       select given.target, min(o.first_seen) as first, max(o.last_seen) as last
         from given join dlq_groups o using (fingerprint) group by 1),
     kept as (
       update dlq_groups g set first_seen = least(g.first_seen, times.first), last_seen = greatest(g.last_seen, times.last)
         from times where g.fingerprint = times.target),
     gone as (
       delete from dlq_groups o using given
        where o.fingerprint = given.fingerprint and given.settled and o.last_seen < now() - interval '${QUIET}'
       returning o.fingerprint),
     looked as (
       select fingerprint, settled and (fingerprint in (select fingerprint from gone)
                or not exists (select from dlq_groups o where o.fingerprint = given.fingerprint)) as done from given)
     update group_aliases a set moved_at = case when looked.done then now() end, due_at = now() + interval '${QUIET}'
       from looked where a.fingerprint = looked.fingerprint`,
    values,
  );
  const gone = new Set(empty.map(({ fingerprint }) => fingerprint));
  return moving.filter(({ fingerprint }) => !gone.has(fingerprint));
}
