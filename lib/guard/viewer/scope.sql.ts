import { eventsOfEntry } from "@/lib/guard/audit/subjects.sql";

/**
 * SQL for the rows that a viewer of some sources may see. `scope` is the `$n` of the names from `sourceScope`: null =
 * every source, and then each condition is true.
 */

const idsOf = (scope: string) => `select id from sources where name = any(${scope}::text[])`;

/** Over a column that holds the id of a source. */
export function ofSources(column: string, scope: string): string {
  return `(${scope}::text[] is null or ${column} = any(array(${idsOf(scope)})))`;
}

/** Over a row of redrives. Its counters include all its events, so a viewer sees the whole row or nothing. */
export function seesRedrive(alias: string, scope: string): string {
  return `(${scope}::text[] is null or ${alias}.sources <@ ${scope}::text[])`;
}

/** Over a column that holds the id of a redrive. */
export function ofSeenRedrive(column: string, scope: string): string {
  return `(${scope}::text[] is null or exists (
    select 1 from redrives seen where seen.id = ${column} and ${seesRedrive("seen", scope)}))`;
}

/** The column `selection` as typed, see `askedSelection`. */
export const ASKED_SELECTION = `case when selection ? 'asked'
    then selection - 'asked' || jsonb_build_object('filter', selection -> 'asked') else selection end`;

/** Over `o`, a row of bulk_operations. Its selection names the sources of all its events. */
export function seesOperation(scope: string): string {
  const named = "coalesce(o.selection -> 'filter' -> 'source', o.selection -> 'sources')";
  return `(${scope}::text[] is null or ${named} <@ to_jsonb(${scope}::text[]))`;
}

/**
 * Over `c`, a row of controls. A control without a source applies to every source: a viewer sees it when it names an
 * event of the viewer's sources, so that the viewer knows why that event is refused.
 */
export function seesControl(scope: string): string {
  const own = ofSources("e.source_id", scope);
  return `(${scope}::text[] is null or case
    when c.scope = 'source' then c.value = any(${scope}::text[])
    when c.source is not null then c.source = any(${scope}::text[])
    when c.scope = 'eventId' then exists (
      select 1 from event_keys e where e.event_id = c.value and ${own})
    when c.scope = 'aggregateId' then exists (
      select 1 from dlq_event_rows e where e.found_aggregate_id = c.value and ${own})
    else exists (select 1 from dlq_level_sums e where e.error_code = c.value and ${own}) end)`;
}

/**
 * Over `a`, a row of audit_entries. An entry about events of several sources is visible only to viewers of all of them.
 */
export function seesEntry(scope: string): string {
  return `case a.subject_kind
    when 'event' then exists (${eventsOfEntry("a.id")}) or exists (
      select 1 from dlq_events e where e.id = a.subject_id::uuid and e.source_id in (${idsOf(scope)}))
    when 'redrive' then ${ofSeenRedrive("a.redrive_id", scope)}
    when 'operation' then exists (
      select 1 from bulk_operations o where o.id::text = a.subject_id and ${seesOperation(scope)})
    when 'control' then coalesce(a.after, a.before) -> 'scope' ->> 'source' = any(${scope}::text[]) or exists (
      select 1 from controls c where c.id = a.subject_id::uuid and ${seesControl(scope)})
    when 'source' then a.subject_id = any(${scope}::text[])
    when 'target' then coalesce(a.after ->> 'source', a.before ->> 'source') = any(${scope}::text[]) or exists (
      select 1 from targets t where t.name = a.subject_id and t.source_id in (${idsOf(scope)}))
    when 'view' then not exists (
      select 1 from jsonb_array_elements_text(coalesce(a.after, a.before) -> 'filter' -> 'source') named (source)
       where named.source <> all(${scope}::text[]))
    when 'rule' then ${namesOnly(scope)}
    when 'recipe' then ${namesOnly(scope)}
    when 'redrive-rule' then not exists (
      select 1 from (values (a.before), (a.after)) stated (rule)
       where rule is not null and (rule -> 'filter' -> 'source' <@ to_jsonb(${scope}::text[])) is not true)
    else a.subject_kind in ('policy', 'setting', 'stop') end
   and not exists (
    select 1 from (${eventsOfEntry("a.id")}) s left join dlq_events e on e.id = s.event_id
     where (e.id is null or e.source_id not in (${idsOf(scope)})))`;
}

/** Over `a`: the source that the entry's values name, if any, is one of the scope. */
function namesOnly(scope: string): string {
  return `not exists (
      select 1 from (values (a.before ->> 'source'), (a.after ->> 'source')) named (source)
       where named.source <> all(${scope}::text[]))`;
}
