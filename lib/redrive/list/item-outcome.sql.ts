import { DEDUPLICATED_RESULTS } from "@/lib/redrive/run/item-outcome.pure";
import type { ItemOutcomeWord } from "@/lib/redrive/states/item-state.pure";
import { ITEM } from "@/lib/redrive/states/state.sql";

/** SQL: whether the target of the item `i` had its event already. */
export const DEDUPLICATED = `(i.result in (${DEDUPLICATED_RESULTS.map((result) => `'${result}'`).join(", ")}))`;

/** SQL: the outcome (`ItemOutcomeWord`) of the item `i`, whose event is `e`; an event that left the store has no later word. */
export const ITEM_OUTCOME = `(case when i.state <> ${ITEM.delivered} then i.state
  when i.redrive_id = any(e.bounced_redrives) then 'bounced' when e.confirmed_redrive = i.redrive_id then 'confirmed'
  when ${DEDUPLICATED} then 'deduplicated' else 'sent' end)`;

/** SQL: why the item `i` with its event `e` ended so: what its event came back with, or the result of the item. */
export const ITEM_CAUSE = `(case when ${ITEM_OUTCOME} = 'bounced' then e.error_code else i.result end)`;

export type ItemsOfRedrive = { redrive: string; outcome: readonly ItemOutcomeWord[]; result?: string | undefined };

/** SQL: from items `i` with their events `e`, those of a parameter that holds `ItemsOfRedrive` with `states` as JSON. */
export function itemsOfRedrive(param: string): string {
  return `redrive_items i join dlq_events e on e.id = i.id
    where i.redrive_id = (${param}::jsonb ->> 'redrive')::uuid
      and i.state = any(array(select jsonb_array_elements_text(${param}::jsonb -> 'states')))
      and ${ITEM_OUTCOME} = any(array(select jsonb_array_elements_text(${param}::jsonb -> 'outcome')))
      and (${param}::jsonb ->> 'result' is null or ${ITEM_CAUSE} = ${param}::jsonb ->> 'result')`;
}

/**
 * SQL: the items whose events a selection takes. A dry run passes the bytes that it checked: an event that was
 * edited, mended or undone since is left out.
 */
export function selectedItems(param: string): string {
  return `${itemsOfRedrive(param)} and not (i.state = ${ITEM.passed} and e.revision <> i.revision)`;
}
