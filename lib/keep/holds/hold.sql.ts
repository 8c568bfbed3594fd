/** No hold is in force: it is asked once for a statement, not for each event. */
const ANY = "(select exists (select 1 from legal_holds where lifted_at is null))";

/**
 * SQL: a legal hold in force covers `e`, which has `source` (SQL of the name of its source), `event_id, aggregate_type,
 * aggregate_id, error_code, tags, first_seen`. Each scope is looked up by the index over (scope, value).
 */
export function coveredByHold(e: string, source: string): string {
  const narrowed = `h.lifted_at is null and (h.source is null or h.source = ${source})
      and (h.from_at is null or ${e}.first_seen >= h.from_at) and (h.to_at is null or ${e}.first_seen < h.to_at)`;
  const by = (scope: string, value: string, more = "") =>
    `exists (select 1 from legal_holds h where h.scope = '${scope}' and h.value = ${value} and ${narrowed}${more})`;
  return `(${ANY} and (
    ${by("eventId", `${e}.event_id`)}
    or ${by("aggregateId", `${e}.aggregate_id`, ` and (h.aggregate_type is null or h.aggregate_type = coalesce(${e}.aggregate_type, ''))`)}
    or ${by("errorCode", `${e}.error_code`)}
    or ${by("source", source)}
    or exists (select 1 from jsonb_each_text(coalesce(${e}.tags, '{}')) t join legal_holds h on h.scope = 'tag' and h.tag = t.key and h.value = t.value
                where ${narrowed})))`;
}

/** SQL: a legal hold in force covers `e`, an alias of dlq_event_rows. */
export const held = (e: string) => coveredByHold(e, `(select s.name from sources s where s.id = ${e}.source_id)`);

export const HELD = held("e");
