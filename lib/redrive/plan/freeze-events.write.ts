import type { Candidate } from "@/lib/events/selection/candidates.read";
import { rollupOf } from "@/lib/observe/rollups/rollup.write";
import type { Tx } from "@/lib/platform/database/db";
import { storableJsonText } from "@/lib/platform/plain/storable.pure";
import type { Check } from "@/lib/redrive/gate/dry-run.pure";
import type { Refusal } from "@/lib/redrive/gate/refusal.pure";
import { checked, lockEvents } from "@/lib/redrive/run/store/fence.write";
import { FROZEN_AS } from "@/lib/redrive/states/item-state.pure";
import { EVENT_MOVE, REDRIVE } from "@/lib/redrive/states/state.sql";

/** A candidate with its place in the plan and the decision of the gate; refusal null = freeze it. */
export type PlannedItem = {
  candidate: Candidate;
  slice: number;
  refusal: Refusal | null;
  detail: string | null;
  /** Of one that the gate refuses: every rule that does. */
  findings?: readonly Check[];
};

/**
 * Moves PENDING events to QUEUED and writes their open items, in one statement: compare-and-set, so that only one of
 * two overlapping redrives gets the event. Returns the ids that this call moved.
 */
export async function freezeEvents(
  tx: Tx,
  redriveId: string,
  items: readonly PlannedItem[],
  { actor, entryId }: { actor: string; entryId: string },
): Promise<Set<string>> {
  if (items.length === 0) return new Set();
  await lockEvents(
    tx,
    items.map((item) => item.candidate.id),
  );
  const rows = await tx.query<{ id: string }>(
    `with moved as (
       update dlq_events e set status = ${EVENT_MOVE.freeze.to}, last_operator = $4
         from unnest($1::uuid[], $2::int[]) as w(id, slice)
        where e.id = any($1::uuid[]) and e.id = w.id and ${checked("e.status", EVENT_MOVE.freeze.from)}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.freeze.from} as old_status,
                 e.status as new_status, w.slice, e.aggregate_type, e.aggregate_id, e.version, e.revision
     )${rollupOf("moved")}, items as (
       insert into redrive_items (id, redrive_id, slice, source_id, aggregate_type, aggregate_id, version, error_code, revision, state, queued_entry)
       select id, $3, slice, source_id, coalesce(aggregate_type, ''), aggregate_id, version, error_code, revision, $5, $6 from moved
     )
     select id from moved`,
    [
      items.map((item) => item.candidate.id),
      items.map((item) => item.slice),
      redriveId,
      actor,
      FROZEN_AS.passes,
      entryId,
    ],
    { name: "freeze-events" },
  );
  return new Set(rows.map((row) => row.id));
}

/** Writes items as they are, the refused ones with their reason. */
export async function insertItems(tx: Tx, redriveId: string, items: readonly PlannedItem[]): Promise<void> {
  if (items.length === 0) return;
  await tx.run(
    `insert into redrive_items (id, redrive_id, slice, source_id, aggregate_type, aggregate_id, version, error_code, revision, state, result,
                                detail, verdict, finished_at)
     select w.id, $1, w.slice, w.source_id, coalesce(w.aggregate_type, ''), w.aggregate_id, w.version, w.error_code,
            w.revision, w.state, w.refusal, w.detail, w.findings::jsonb,
            case when w.refusal is null then null else now() end
       from unnest($2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::bigint[], $8::text[],
                   $9::text[], $10::text[], $11::text[], $12::int[], $13::text[])
         as w(id, slice, source_id, aggregate_type, aggregate_id, version, error_code, refusal, detail, state, revision,
              findings)`,
    [
      redriveId,
      items.map((item) => item.candidate.id),
      items.map((item) => item.slice),
      items.map((item) => item.candidate.sourceId),
      items.map((item) => item.candidate.aggregateType),
      items.map((item) => item.candidate.aggregateId),
      items.map((item) => item.candidate.version),
      items.map((item) => item.candidate.errorCode),
      items.map((item) => item.refusal),
      items.map((item) => item.detail),
      items.map((item) => (item.refusal === null ? FROZEN_AS.passes : FROZEN_AS.stopped)),
      items.map((item) => item.candidate.revision),
      items.map((item) => (item.findings ? storableJsonText(item.findings) : null)),
    ],
    { name: "insert-items" },
  );
}

/**
 * Compare-and-set on the plan's cursor: of two planners one continues. False = another planner moved it, or the redrive
 * is no longer PLANNING.
 */
export async function advancePlan(tx: Tx, redriveId: string, from: string | null, to: string): Promise<boolean> {
  const changed = await tx.run(
    `update redrives set plan_cursor = $3
      where id = $1 and state = ${REDRIVE.PLANNING} and plan_cursor is not distinct from $2::uuid`,
    [redriveId, from, to],
  );
  return changed === 1;
}
