import { DEDUPLICATED_RESULTS } from "@/lib/redrive/run/item-outcome.pure";
import {
  ITEM_EXCEPTIONS,
  ITEM_STATES,
  type ItemOutcomeWord,
  type ItemState,
  stateOfOutcome,
} from "@/lib/redrive/states/item-state.pure";
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

/**
 * SQL: the items of a redrive in these states, which can be read from the newest on: open ones by the queue, exceptions from an index of
 * their own, others among all items of the redrive.
 */
export function itemsIn(redriveId: string, states: readonly ItemState[]): string {
  const ofRedrive = `select * from redrive_items where redrive_id = ${redriveId}`;
  const wanted = ITEM_STATES.filter((state) => states.includes(state));
  if (wanted.length === ITEM_STATES.length) return `(${ofRedrive})`;
  if (wanted.every((state) => state === "open"))
    return `(select i.* from open_items o join redrive_items i on i.id = o.id and i.redrive_id = o.redrive_id where o.redrive_id = ${redriveId} order by o.id desc)`;
  const exceptions: readonly ItemState[] = ITEM_EXCEPTIONS;
  if (!wanted.every((state) => exceptions.includes(state)))
    return `(${ofRedrive} and state in (${wanted.map((state) => ITEM[state]).join(", ")}))`;
  return `(${wanted.map((state) => `(${ofRedrive} and exception = ${ITEM[state]} order by id desc)`).join(" union all ")})`;
}

/** SQL: the items of a redrive whose events bounced, from the newest on: an index holds the bounced events, and no index this outcome. */
export function bouncedItems(redriveId: string): string {
  return `(select i.* from dlq_events b join redrive_items i on i.id = b.id and i.redrive_id = ${redriveId}
    where b.bounces > 0 and ${redriveId} = any(b.bounced_redrives) order by b.id desc)`;
}

/** SQL: from items `i` with their events `e`, those of a parameter that holds `ItemsOfRedrive` as JSON. */
export function itemsOfRedrive({ outcome }: ItemsOfRedrive, param: string): string {
  return `${itemsIn(`(${param}::jsonb ->> 'redrive')::uuid`, outcome.map(stateOfOutcome))} i join dlq_events e on e.id = i.id
    where ${ITEM_OUTCOME} = any(array(select jsonb_array_elements_text(${param}::jsonb -> 'outcome')))
      and (${param}::jsonb ->> 'result' is null or ${ITEM_CAUSE} = ${param}::jsonb ->> 'result')`;
}

/**
 * SQL: the items whose events a selection takes. A dry run passes the bytes that it checked: an event that was
 * edited, mended or undone since is left out.
 */
export function selectedItems(items: ItemsOfRedrive, param: string): string {
  return `${itemsOfRedrive(items, param)} and not (i.state = ${ITEM.passed} and e.revision <> i.revision)`;
}
