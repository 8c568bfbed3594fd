import type { LiftFilter } from "@/lib/order/controls/controls.shapes";
import { FREED, type Lift } from "@/lib/order/controls/controls.write";
import type { Queryable, Tx } from "@/lib/platform/database/db";

/** Controls that one call lifts. A bad redrive of a large selection blacklists some thousand aggregates at most. */
export const LIFT_MAX = 10_000;

const LIVE = "c.lifted_at is null and (c.expires_at is null or c.expires_at > now())";

/** SQL: controls of people that match; $1 kind, $2 origin, $3 source, $4 aggregate, $5 redrive, each null = any. */
const OF_PEOPLE = `${LIVE} and ($1::text is null or c.kind = $1) and ($2::text is null or c.origin = $2) and $5::uuid is null
  and ($3::text is null or c.source = $3 or (c.scope = 'source' and c.value = $3))
  and ($4::text is null or (c.scope = 'aggregateId' and c.value = $4))`;

/** SQL: blacklists that Parkade imposed and that match, in the rows of their aggregates. */
const OF_PARKADE = `a.blacklist_id is not null and coalesce($1::text, 'blacklist') = 'blacklist'
  and coalesce($2::text, 'automatic') = 'automatic' and ($5::uuid is null or a.blacklist_redrive = $5)
  and ($3::text is null or a.source_id = (select id from sources where name = $3))
  and ($4::text is null or a.aggregate_id = $4)`;

function valuesOf({ kind, origin, source, aggregateId, redrive }: LiftFilter): unknown[] {
  return [kind ?? null, origin ?? null, source ?? null, aggregateId ?? null, redrive ?? null];
}

/** The number of controls in force that match, LIFT_MAX + 1 at most. */
export async function countLiftable(db: Queryable, filter: LiftFilter): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from (
       (select 1 from controls c where ${OF_PEOPLE} limit ${LIFT_MAX + 1})
       union all (select 1 from aggregates a where ${OF_PARKADE} limit ${LIFT_MAX + 1})
       limit ${LIFT_MAX + 1}) found`,
    valuesOf(filter),
  );
  return row!.n;
}

/** SQL: the person's blacklist `c` is one over the aggregate `a`. */
const OVER_AGGREGATE = `c.kind = 'blacklist' and c.scope = 'aggregateId' and a.aggregate_id = c.value
  and (c.aggregate_type is null or a.aggregate_type = c.aggregate_type)
  and (c.source is null or a.source_id = (select id from sources where name = c.source))`;

/** All aggregates that the lift changes, in the order in which claims lock them. */
async function lockAggregates(tx: Tx, filter: LiftFilter): Promise<void> {
  await tx.query(
    `with named as materialized (
       (select a.aggregate_id, a.source_id, a.aggregate_type from aggregates a where ${OF_PARKADE}
         order by a.aggregate_id, a.source_id, a.aggregate_type limit ${LIFT_MAX})
       union
       select a.aggregate_id, a.source_id, a.aggregate_type
         from (select * from controls c where ${OF_PEOPLE} order by c.id limit ${LIFT_MAX}) c
         join aggregates a on ${OVER_AGGREGATE}
     )
     select 1 from aggregates a join named using (aggregate_id, source_id, aggregate_type)
      order by a.aggregate_id, a.source_id, a.aggregate_type for update of a`,
    valuesOf(filter),
  );
}

/**
 * Lifts at most LIFT_MAX controls that match, under one id. The aggregates are locked in the order in which claims lock
 * them; their failures before the lift no longer count. Returns the ids of the controls.
 */
export async function liftMatching(tx: Tx, filter: LiftFilter, { id, actor, reason, atMs }: Lift): Promise<string[]> {
  const values = [...valuesOf(filter), id, actor, reason, atMs];
  await lockAggregates(tx, filter);
  const ofPeople = await tx.query<{ id: string }>(
    `with picked as materialized (
       select c.id from controls c where ${OF_PEOPLE} order by c.id limit ${LIFT_MAX} for update
     )
     update controls c
        set lifted_at = to_timestamp($9::float8 / 1000), lifted_by = $7, lift_reason = $8, lift_id = $6::uuid
       from picked p where c.id = p.id
     returning c.id`,
    values,
  );
  await tx.run(
    `update aggregates a set consecutive_failures = 0, failed_redrives = '{}'
       from controls c
      where c.lift_id = $1 and ${OVER_AGGREGATE}`,
    [id],
  );
  const ofParkade = await tx.query<{ id: string }>(
    `with was as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id, a.blacklist_id, a.blacklisted_at, a.blacklist_reason, a.blacklist_redrive
         from aggregates a where ${OF_PARKADE}
        order by a.aggregate_id, a.source_id, a.aggregate_type limit ${LIFT_MAX} - $10::int for update
     ), ${FREED}
     insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, created_at,
                           lifted_at, lifted_by, lift_reason, lift_id, redrive_id)
     select w.blacklist_id, 'blacklist', 'aggregateId', w.aggregate_id, s.name, w.aggregate_type, w.blacklist_reason,
            'automatic', 'worker', w.blacklisted_at, to_timestamp($9::float8 / 1000), $7, $8, $6::uuid, w.blacklist_redrive
       from was w left join sources s on s.id = w.source_id
     returning id`,
    [...values, ofPeople.length],
  );
  return [...ofPeople, ...ofParkade].map((control) => control.id);
}

/** The sources of the controls of a lift; null = one over every source. None = there is no such lift. */
export async function sourcesOfLift(tx: Tx, liftId: string): Promise<(string | null)[]> {
  const rows = await tx.query<{ source: string | null }>(
    "select distinct case scope when 'source' then value else source end as source from controls where lift_id = $1",
    [liftId],
  );
  return rows.map(({ source }) => source);
}

/**
 * Puts what a lift ended in force again, and forgets the lift. Left out: what has run out, what has been imposed anew, and
 * aggregates that Parkade has blacklisted again. Returns the ids of those in force.
 */
export async function imposeLifted(tx: Tx, liftId: string): Promise<string[]> {
  const ofPeople = await tx.query<{ id: string }>(
    `update controls c set lifted_at = null, lifted_by = null, lift_reason = null
      where c.lift_id = $1 and c.origin = 'person' and (c.expires_at is null or c.expires_at > now())
        and not exists (
          select 1 from controls o
           where o.id <> c.id and o.kind = c.kind and o.scope = c.scope and o.value = c.value
             and o.source is not distinct from c.source and o.aggregate_type is not distinct from c.aggregate_type
             and o.lifted_at is null and (o.expires_at is null or o.expires_at > now()))
     returning c.id`,
    [liftId],
  );
  const ofParkade = await tx.query<{ id: string }>(
    `with locked as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id, c.id, c.created_at, c.reason, c.redrive_id
         from controls c join sources s on s.name = c.source
         join aggregates a on a.source_id = s.id and a.aggregate_id = c.value and a.aggregate_type = c.aggregate_type
        where c.lift_id = $1 and c.origin = 'automatic' and a.blacklist_id is null
        order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
     ), imposed as (
       update aggregates a
          set blacklist_id = l.id, blacklisted_at = l.created_at, blacklist_reason = l.reason, blacklist_redrive = l.redrive_id
         from locked l
        where a.source_id = l.source_id and a.aggregate_id = l.aggregate_id and a.aggregate_type = l.aggregate_type
     )
     delete from controls c using locked l where c.id = l.id
     returning c.id`,
    [liftId],
  );
  await tx.run("update controls set lift_id = null where lift_id = $1", [liftId]);
  return [...ofPeople, ...ofParkade].map(({ id }) => id);
}
