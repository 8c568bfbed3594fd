import { LAST_PLACE, PART, rowsOf } from "@/lib/order/line.sql";
import type { Tx } from "@/lib/platform/database/db";
import { storableJsonText } from "@/lib/platform/plain/storable.pure";
import type { Check } from "@/lib/redrive/gate/dry-run.pure";
import { type IdList, NO_IDS } from "@/lib/redrive/plan/free-events.read";
import type { Candidate } from "@/lib/selection/candidates.read";
import { checked } from "@/lib/states/fence.write";
import { FROZEN_AS } from "@/lib/states/item-state.pure";
import type { Refusal } from "@/lib/states/refusal.pure";
import { rollupOf } from "@/lib/states/rollup.write";
import { EVENT_MOVE, REDRIVE } from "@/lib/states/state.sql";

/** A candidate with the decision of the gate; refusal null = freeze it. */
export type PlannedItem = {
  candidate: Candidate;
  refusal: Refusal | null;
  detail: string | null;
  /** Of one that the gate refuses: every rule that does. */
  findings?: readonly Check[];
};

/**
 * SQL: the slice of the event `row` in the redrive `redriveId`: a hash of its aggregate, so that an aggregate is never
 * split, whichever chunk of the plan holds it first. The aggregate's type is not part of the hash: aggregates of one
 * source with the same id share a slice, which splits none of them.
 */
function sliceOf(row: string, redriveId: string): string {
  const hash = `hashtextextended(coalesce(${row}.source_id || ':' || ${row}.aggregate_id, ${row}.id::text), 0)`;
  return `((${hash} & 9223372036854775807) % (select r.slices from redrives r where r.id = ${redriveId}))::int`;
}

/** `queued`: the events that this call moved, `first` one of them. `taken`: those that were no longer PENDING. */
type FrozenEvents = {
  queued: IdList;
  first: string | null;
  open: number;
  taken: string[];
  slices: number[];
  /** Ids of the sources of the queued events. */
  sources: string[];
};

/**
 * Moves PENDING events to QUEUED and writes their open items, in one statement: compare-and-set, so that only one of
 * two overlapping redrives gets the event. `noteSlices` follows in the same transaction.
 */
export async function freezeEvents(
  tx: Tx,
  redriveId: string,
  ids: IdList,
  { actor, entryId }: { actor: string; entryId: string },
): Promise<FrozenEvents> {
  if (ids === NO_IDS) return { queued: NO_IDS, first: null, open: 0, taken: [], slices: [], sources: [] };
  // As `lockEvents` does, in a statement of its own. It answers with no row for each event.
  await tx.run(
    "select count(*) from (select id from dlq_events where id = any($1::uuid[]) order by id for no key update) locked",
    [ids],
  );
  const [row] = await tx.query<FrozenEvents>(
    `with moved as (
       update dlq_events e set status = ${EVENT_MOVE.freeze.to}, last_operator = $3
        where e.id = any($1::uuid[]) and ${checked("e.status", EVENT_MOVE.freeze.from)}
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, ${EVENT_MOVE.freeze.from} as old_status,
                 e.status as new_status, e.aggregate_type, e.aggregate_id, e.version, e.revision
     )${rollupOf("moved")}, items as (
       insert into redrive_items (id, redrive_id, slice, source_id, aggregate_type, aggregate_id, version, error_code, revision, state, queued_entry)
       select id, $2, ${sliceOf("moved", "$2::uuid")}, source_id, coalesce(aggregate_type, ''), aggregate_id, version, error_code, revision, $4, $5
         from moved
       returning id, slice, source_id, version, revision
     ), queue as (
       insert into open_items (id, redrive_id, slice, place, source_id, revision)
       select id, $2, slice, coalesce(version, ${LAST_PLACE}), source_id, revision from items
     ), opened as (
       update aggregate_lines set part = ${PART.open}, redrive_id = $2, cooldown_until = null
        where ctid = any(${rowsOf("moved")})
     ), frozen as materialized (
       select coalesce(array_agg(id), '{}') as ids, array_agg(distinct slice) as slices, array_agg(distinct source_id) as sources
         from items
     )
     select ids::text as queued, ids[1] as first, cardinality(ids) as open, coalesce(slices, '{}') as slices,
            coalesce(sources, '{}') as sources,
            case when cardinality(ids) = cardinality($1::uuid[]) then '{}'
                 else array(select unnest($1::uuid[]) except select unnest(ids)) end as taken
       from frozen`,
    [ids, redriveId, actor, FROZEN_AS.passes, entryId],
    { name: "freeze-events" },
  );
  return row!;
}

/** Makes the rows of these slices, which whoever takes an item out of its redrive locks. */
export async function noteSlices(tx: Tx, redriveId: string, slices: readonly number[]): Promise<void> {
  if (slices.length === 0) return;
  await tx.run(
    `insert into slice_owners (redrive_id, slice, epoch) select $1, slice, 0 from unnest($2::int[]) as slice on conflict do nothing`,
    [redriveId, slices],
    { name: "note-slices" },
  );
}

/**
 * Notes the sources of queued events at their redrive. Where none are noted yet, those of all its items: a worker of before, which
 * notes none, may have begun the plan.
 */
export async function noteSources(tx: Tx, redriveId: string, sources: readonly string[]): Promise<void> {
  await tx.run(
    `update redrives
        set queued_sources = array(select distinct unnest($2::uuid[] || coalesce(queued_sources,
              array(select distinct source_id from redrive_items where redrive_id = $1))))
      where id = $1 and not coalesce(queued_sources @> $2::uuid[], false)`,
    [redriveId, sources],
    { name: "note-sources" },
  );
}

/** Writes items that the gate refuses. */
export async function insertRefused(tx: Tx, redriveId: string, items: readonly PlannedItem[]): Promise<void> {
  if (items.length === 0) return;
  await tx.run(
    `insert into redrive_items (id, redrive_id, slice, source_id, aggregate_type, aggregate_id, version, error_code, revision, state, result,
                                detail, verdict, finished_at)
     select w.id, $1, ${sliceOf("w", "$1::uuid")}, w.source_id, coalesce(w.aggregate_type, ''), w.aggregate_id, w.version, w.error_code,
            w.revision, $11, w.refusal, w.detail, w.findings::jsonb, now()
       from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                   $8::text[], $9::text[], $10::int[], $12::text[])
         as w(id, source_id, aggregate_type, aggregate_id, version, error_code, refusal, detail, revision, findings)`,
    [
      redriveId,
      items.map((item) => item.candidate.id),
      items.map((item) => item.candidate.sourceId),
      items.map((item) => item.candidate.aggregateType),
      items.map((item) => item.candidate.aggregateId),
      items.map((item) => item.candidate.version),
      items.map((item) => item.candidate.errorCode),
      items.map((item) => item.refusal),
      items.map((item) => item.detail),
      items.map((item) => item.candidate.revision),
      FROZEN_AS.stopped,
      items.map((item) => (item.findings ? storableJsonText(item.findings) : null)),
    ],
    { name: "insert-refused" },
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
