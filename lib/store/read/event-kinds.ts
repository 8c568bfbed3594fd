import type { EventFilter } from "@/lib/contract/event-filter";
import { groupsHolding, type Params, splitStatuses, splitWords } from "@/lib/store/read/event-filter-sql";

/**
 * A kind of events has one fingerprint, source and status. Each kind is an ordered range of the index
 * `dlq_events_group`, and `dlq_group_levels` counts each exactly, so that a filter by these names reads only ranges
 * with events.
 */

/**
 * The fields of a filter that kinds decide. Of `q` only the words without a digit, of `status` only the stored
 * statuses.
 */
export const KIND_FIELDS = ["source", "errorCode", "fingerprint", "status", "q"] as const;

/** Over `l` (dlq_group_levels): the kinds that may match. A refinement of a status stands for the status it refines. */
export function kindConditions(filter: EventFilter, params: Params): string {
  const all = ["true"];
  if (filter.fingerprint) all.push(`l.fingerprint = any(${params.add(filter.fingerprint)}::text[])`);
  if (filter.status) {
    const { stored, parents } = splitStatuses(filter.status);
    all.push(`l.status = any(${params.add([...new Set([...stored, ...parents])])}::text[])`);
  }
  if (filter.source) {
    all.push(`l.source_id in (select id from sources where name = any(${params.add(filter.source)}::text[]))`);
  }
  if (filter.errorCode) {
    all.push(
      `l.fingerprint in (select fingerprint from dlq_groups where error_code = any(${params.add(filter.errorCode)}::text[]))`,
    );
  }
  const words = filter.q === undefined ? [] : splitWords(filter.q).plain;
  if (words.length > 0) all.push(`l.fingerprint in (${groupsHolding(params.add(words))})`);
  return all.join(" and ");
}

/** True when kinds alone decide whether an event matches: their counts are the filter's. */
export function isDecidedByKinds(filter: EventFilter): boolean {
  const used = (Object.keys(filter) as (keyof EventFilter)[]).filter((name) => filter[name] !== undefined);
  if (filter.status && splitStatuses(filter.status).refined.length > 0) return false;
  if (filter.q !== undefined && splitWords(filter.q).numbered.length > 0) return false;
  return used.every((name) => (KIND_FIELDS as readonly string[]).includes(name));
}
