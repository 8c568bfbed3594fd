import { DEDUPLICATED_RESULTS } from "@/lib/states/item-outcome.pure";
import { ITEM_EXCEPTIONS, type ItemOutcomeWord, stateOfOutcome } from "@/lib/states/item-state.pure";
import { ITEM } from "@/lib/states/state.sql";

/** SQL: whether the target of the item `i` had its event already. */
export const DEDUPLICATED = `(i.result in (${DEDUPLICATED_RESULTS.map((result) => `'${result}'`).join(", ")}))`;

/** SQL: the outcome (`ItemOutcomeWord`) of the item `i`, whose event is `e`; an event that left the store has no later word. */
export const ITEM_OUTCOME = `(case when i.state <> ${ITEM.delivered} then i.state
  when i.redrive_id = any(e.bounced_redrives) then 'bounced' when e.confirmed_redrive = i.redrive_id then 'confirmed'
  when ${DEDUPLICATED} then 'deduplicated' else 'sent' end)`;

/** SQL: why the item `i` with its event `e` ended so: the error code of its bounce, or the result of the item. */
export const ITEM_CAUSE = `(case when ${ITEM_OUTCOME} = 'bounced'
  then (select b.error_code from event_bounces b where b.id = i.id and b.redrive_id = i.redrive_id limit 1) else i.result end)`;

export type ItemsOfRedrive = { redrive: string; outcome: readonly ItemOutcomeWord[]; result?: string | undefined };

/**
 * SQL: the items of a redrive among which those with these outcomes are, and with `cause` (SQL of a text) those with that cause; null = any
 * outcome. They can be read from the newest on: open ones by the queue, exceptions and bounces from indexes of their own, others among all
 * items of the redrive.
 */
export function itemsWith(redriveId: string, outcomes: readonly ItemOutcomeWord[] | null, cause?: string): string {
  const ofRedrive = `select * from redrive_items where redrive_id = ${redriveId}`;
  const caused = (column: string) => (cause === undefined ? "" : ` and ${column} = ${cause}`);
  if (outcomes === null) return `(${ofRedrive})`;
  const part = (outcome: ItemOutcomeWord): string | null => {
    if (outcome === "open")
      return `(select i.* from open_items o join redrive_items i on i.id = o.id and i.redrive_id = o.redrive_id
        where o.redrive_id = ${redriveId} order by o.id desc)`;
    if (outcome === "bounced")
      // Each bounce looks up its item: from the newest item on, all that did not bounce would be read.
      return `(select i.* from event_bounces b
        cross join lateral (select * from redrive_items own where own.id = b.id and own.redrive_id = b.redrive_id offset 0) i
        where i.id = b.id and b.redrive_id = ${redriveId}${caused("b.error_code")} order by b.id desc)`;
    const exception = ITEM_EXCEPTIONS.find((state) => state === outcome);
    return exception ? `(${ofRedrive} and exception = ${ITEM[exception]}${caused("cause")} order by id desc)` : null;
  };
  const parts = [...new Set(outcomes)].map(part);
  if (parts.every((sql) => sql !== null)) return `(${parts.join(" union all ")})`;
  const states = [...new Set(outcomes.map(stateOfOutcome))].map((state) => ITEM[state]);
  return `(${ofRedrive} and state in (${states.join(", ")}))`;
}

/** SQL: from items `i` with their events `e`, those of a parameter that holds `ItemsOfRedrive` as JSON. */
export function itemsOfRedrive({ outcome, result }: ItemsOfRedrive, param: string): string {
  const field = (name: string) => `(${param}::jsonb ->> '${name}')`;
  const cause = result === undefined ? undefined : field("result");
  return `${itemsWith(`${field("redrive")}::uuid`, outcome, cause)} i join dlq_events e on e.id = i.id
    where ${ITEM_OUTCOME} = any(array(select jsonb_array_elements_text(${param}::jsonb -> 'outcome')))
      and ${cause === undefined ? "true" : `${ITEM_CAUSE} = ${cause}`}`;
}

/**
 * SQL: the items whose events a selection takes. A dry run passes the bytes that it checked: an event that was
 * edited, mended or undone since is left out.
 */
export function selectedItems(items: ItemsOfRedrive, param: string): string {
  return `${itemsOfRedrive(items, param)} and not (i.state = ${ITEM.passed} and e.revision <> i.revision)`;
}
