/** The aliases that decide about new events; intake keeps them in memory. Those of reason `rules`, and those of what a storm has moved, are for links and filters. */
const DECIDING = "(reason in ('merge', 'split') or family is not null)";

/** SQL: these aliases as an array of JSON, the oldest first. */
export const DECIDING_ALIASES = `array(select to_json(a) from (
  select a.fingerprint, a.target, a.family, s.name as source, a.template
    from group_aliases a left join sources s on s.id = a.source_id
   where ${DECIDING} order by a.created_at, a.fingerprint) a)`;

/**
 * SQL: the groups that are meant by these names (SQL of a text[]): each as the group that stands for it. Wherever a person
 * or a stored filter names groups. `unmoved`: with the groups whose events have not all moved there yet.
 */
export function groupsMeant(names: string, { unmoved = false } = {}): string {
  const meant = `select coalesce(a.target, named.print) as print
    from unnest(${names}) named (print) left join group_aliases a on a.fingerprint = named.print`;
  const open = `select o.fingerprint from (${meant}) meant join group_aliases o on o.target = meant.print and o.moved_at is null`;
  return `array(${meant}${unmoved ? ` union ${open}` : ""})`;
}

/** SQL: whether the group of this fingerprint has events. */
export function hasEvents(fingerprint: string): string {
  return `exists (select from dlq_group_levels l where l.fingerprint = ${fingerprint}
    group by l.source_id, l.status having sum(l.n) > 0)`;
}

/** The version of a group whose events are examined again under the same rules, because a group was split off. */
export const EXAMINED_AGAIN = 0;

/** SQL over a row of dlq_groups: earlier rules made it, and its events wait to be regrouped. False while a failure postpones it. */
export function waitsForRules(group: string): string {
  return `${group}.grouping_version > ${EXAMINED_AGAIN} and ${group}.grouping_version < ${GROUPING_VERSION}
    and ${group}.examined -> 'fault' is null`;
}

/** Rises with every change of the rules that gives events other fingerprints: `aliases/regroup-events.ts` then groups what is parked again. */
export const GROUPING_VERSION = 4;
