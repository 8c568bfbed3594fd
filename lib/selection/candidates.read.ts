import type { Queryable, Tx } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { UUID_MAX, UUID_MIN, uuidv7LowerBound } from "@/lib/platform/ids";
import { IN_RANGE, kindConditions, kindShare, rangesOf } from "@/lib/selection/event-kinds.read";
import { inGroups, isInFacts, mergedPage, narrow, readSearch, type Search } from "@/lib/selection/event-search.read";
import { type CompiledFilter, compileFilter } from "@/lib/selection/filter/event-filter.sql";
import type { GateFacts } from "@/lib/selection/gate-facts.pure";
import { type ScopedFilter, type ScopedSelection, sourcesOf } from "@/lib/selection/scope.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { type ItemsOfRedrive, itemsOfRedrive, selectedItems } from "@/lib/states/item-outcome.sql";

/** An event as a bulk operation reads it: the input of the gate, and the target. */
export type Candidate = GateFacts & {
  id: string;
  sourceId: string;
  /** Within which its eventId is unique; '' = in the source. */
  producer: string;
  version: string | null;
  confirmed: boolean;
  /** The current revision of its bytes. */
  revision: number;
};

export const CANDIDATE_COLUMNS = `e.id, e.source_id as "sourceId", s.name as source, e.event_id as "eventId", e.producer,
  e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId", e.version::text as version, e.error_code as "errorCode", e.status, e.redrives, e.admission,
  e.confirmed_at is not null as confirmed, e.revision,
  (extract(epoch from e.cooldown_until) * 1000)::float8 as "cooldownUntilMs"`;

/** The SQL condition of a selection, over the alias `e`. Ids are a condition like any other. */
export function compileSelection(selection: ScopedSelection, asOfMs: number, firstParam: number): CompiledFilter {
  if ("filter" in selection) return compileFilter(selection.filter, asOfMs, { firstParam });
  const [named, value] = namedEvents(selection, firstParam);
  const { sources } = selection;
  const ofSources = `e.source_id = any(array(select id from sources where name = any($${firstParam + 1}::text[])))`;
  return {
    where: sources ? `${named} and ${ofSources}` : named,
    values: sources ? [value, sources] : [value],
    conditions: [],
    fromMs: null,
    toMs: null,
  };
}

function namedEvents(
  selection: Exclude<ScopedSelection, { filter: unknown }>,
  param: number,
): [where: string, value: unknown] {
  if ("ids" in selection) return [`e.id = any($${param}::uuid[])`, selection.ids];
  if ("operation" in selection) return [`e.id in (${changedBy(`$${param}`)})`, selection.operation];
  return [`e.id in (select i.id from ${selectedItems(selection, `$${param}`)})`, redriveParam(selection)];
}

function redriveParam({ redrive, outcome, result }: ItemsOfRedrive): string {
  return JSON.stringify({ redrive, outcome, result });
}

/** The selection, if it is what passed a dry run, which takes only events with the checked bytes; null = another kind. */
export function ofPassed(selection: ScopedSelection): ItemsOfRedrive | null {
  return "redrive" in selection && selection.outcome.every((outcome) => outcome === "passed") ? selection : null;
}

/** How many of the selected events of a redrive have other bytes now than it froze. */
export async function countChangedSince(db: Queryable, selected: ItemsOfRedrive): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*) filter (where e.revision <> i.revision) as n from ${itemsOfRedrive(selected, "$1")}`,
    [redriveParam(selected)],
  );
  return row!.n;
}

/** The events that a bulk operation has changed: the subjects of its audit entry. */
function changedBy(operation: string): string {
  return `select c.event_id from audit_subjects c
     where c.entry_id = (select o.audit_id from bulk_operations o where o.id = ${operation}::uuid)`;
}

/** The condition on the events of a page, without its cutoff. */
export async function selectedWhere(
  db: Queryable,
  page: Pick<Selected, "selection" | "asOfMs">,
  firstParam: number,
): Promise<Pick<CompiledFilter, "where" | "values">> {
  const compiled = compileSelection(page.selection, page.asOfMs, firstParam);
  return "filter" in page.selection ? narrow(db, page.selection.filter, compiled, firstParam) : compiled;
}

/**
 * The cutoff of a selection. A filter takes the events that are stored now, and no later arrival. Named events have no
 * cutoff, nor have the events of an operation: an event that was parked before the wall clock was set back has a time
 * in the future.
 */
export function cutoffOf(selection: Selection | ScopedSelection, nowMs: number): string {
  return "filter" in selection ? uuidv7LowerBound(nowMs + 1) : UUID_MAX;
}

export type Selected = {
  selection: ScopedSelection;
  /** The moment that relative times refer to. */
  asOfMs: number;
  /** Later arrivals are not included: ids above this are left out. */
  cutoff: string;
};

export type CandidatePage = Selected & {
  /** The last id of the page before; null = start. */
  after: string | null;
  limit: number;
};

/** Kinds that are read by their own ranges whatever they hold; more of them must hold a small part of the store. */
const KINDS_FEW = 256;
const KINDS_SHARE = 1 / 20;
/** From this share on the next events of the key are looked at first: each row is read once, with no range to merge. */
const COMMON_SHARE = 1 / 8;

/** Selected events, newest first, keyset-paged: a chunk of a bulk operation. */
export function readCandidates(db: Queryable, page: CandidatePage): Promise<Candidate[]> {
  return readPage<Candidate>(db, page, CANDIDATE_COLUMNS);
}

/** Their ids alone: a chunk of a plan. */
export function readCandidateIds(db: Queryable, page: CandidatePage): Promise<{ id: string }[]> {
  return readPage(db, page, "e.id");
}

/** The events of a chunk that are named. */
export async function readNamedCandidates(db: Queryable, ids: readonly string[]): Promise<Candidate[]> {
  if (ids.length === 0) return [];
  return db.query<Candidate>(
    `select ${CANDIDATE_COLUMNS} from dlq_events e join sources s on s.id = e.source_id
      where e.id = any($1::uuid[]) order by e.id desc`,
    [ids],
    { name: "named-candidates" },
  );
}

async function readPage<Row extends { id: string }>(
  db: Queryable,
  page: CandidatePage,
  columns: string,
): Promise<Row[]> {
  if ("filter" in page.selection) {
    const { filter } = page.selection;
    const search = await readSearch(db, filter);
    if (search !== null) return readSearched(db, filter, { search, page, columns });
    // By their ids, aggregates, traces or tags an index finds the events.
    const named = filter.eventId ?? filter.aggregateId ?? filter.traceId ?? filter.tags;
    const share = named ? null : await kindShare(db, filter);
    if (share && share.events >= share.ofAll * COMMON_SHARE) {
      const next = await readNext<Row>(db, filter, page, columns);
      if (next.length === page.limit) return next;
    }
    if (share && (share.kinds <= KINDS_FEW || share.events < share.ofAll * KINDS_SHARE)) {
      return readByKinds(db, filter, page, columns);
    }
  }
  const compiled = compileSelection(page.selection, page.asOfMs, 4);
  const where = pageWhere(page.selection) ?? compiled.where;
  const text = `select ${columns} from dlq_event_rows e join sources s on s.id = e.source_id
     where ${BEHIND_CURSOR} and ${where}
     order by e.id desc limit $3`;
  return db.query<Row>(text, [page.cutoff, page.after, page.limit, ...compiled.values], {
    name: "candidates",
  });
}

/** Matches of the groups that hold all words, and of last errors as far as those reach. */
async function readSearched<Row extends { id: string }>(
  db: Queryable,
  filter: ScopedFilter,
  { search, page, columns }: { search: Search; page: CandidatePage; columns: string },
): Promise<Row[]> {
  const groups = inGroups(filter, search);
  const selection = { filter: groups } as ScopedSelection;
  const ofGroups = groups === null ? [] : await readPage<Row>(db, { ...page, selection }, columns);
  const compiled = compileFilter(filter, page.asOfMs, { firstParam: 5 });
  const params = paramsFrom(5 + compiled.values.length);
  const until = ofGroups.length < page.limit ? UUID_MIN : ofGroups.at(-1)!.id;
  const bounds = { field: "window", sql: `${BEHIND_CURSOR} and e.id >= $4` } as const;
  const inFacts = isInFacts(search, { conditions: [...compiled.conditions, bounds] }, params);
  const others = await db.query<Row>(
    `select ${columns} from dlq_event_rows e join sources s on s.id = e.source_id
      where ${bounds.sql} and ${inFacts} and ${compiled.where} order by e.id desc limit $3`,
    [page.cutoff, page.after, page.limit, until, ...compiled.values, ...params.values],
    { name: "searched-candidates" },
  );
  return mergedPage({ towards: "older", limit: page.limit }, [...ofGroups, ...others]);
}

/** The page of an operation or of a redrive is read from its own rows, which an index holds in this order, unless sources restrict it. */
function pageWhere(selection: ScopedSelection): string | null {
  if (sourcesOf(selection) !== null) return null;
  const before = (id: string) => `and ($2::uuid is null or ${id} < $2) order by ${id} desc limit $3`;
  if ("operation" in selection) return `e.id = any(array(${changedBy("$4")} ${before("c.event_id")}))`;
  if (!("redrive" in selection)) return null;
  return `e.id = any(array(select i.id from ${selectedItems(selection, "$4")} ${before("i.id")}))`;
}

/** The matching ones of the next events: as many events are read as probably hold a page of matches. */
async function readNext<Row>(
  db: Queryable,
  filter: ScopedFilter,
  page: CandidatePage,
  columns: string,
): Promise<Row[]> {
  const compiled = compileFilter(filter, page.asOfMs, { firstParam: 4 });
  const text = `select ${columns}
     from (select e.* from dlq_event_rows e where ${BEHIND_CURSOR}${windowOf(compiled)} order by e.id desc limit $3::int * ${1 / COMMON_SHARE}) e
     join sources s on s.id = e.source_id
     where ${compiled.where} order by e.id desc limit $3`;
  return db.query<Row>(text, [page.cutoff, page.after, page.limit, ...compiled.values], {
    name: "next-candidates",
  });
}

/** `$1`: the cutoff, `$2`: the cursor or null. In this form both are bounds of the key in every plan. */
const BEHIND_CURSOR = `e.id <= $1 and e.id < coalesce($2::uuid, '${UUID_MAX}')`;

function windowOf({ conditions }: CompiledFilter): string {
  return conditions.flatMap(({ field, sql }) => (field === "window" ? [` and ${sql}`] : [])).join("");
}

/** Rows looked at in one round, at most: some tenths of a second. */
const ROUND_MAX = 100_000;

/**
 * Reads each kind's range from the cursor on, as many rows of each as its share lets expect, and takes the matches down
 * to the first place behind which a range may hold more. So a round costs its rows, however rare the kinds are.
 */
async function readByKinds<Row extends { id: string }>(
  db: Queryable,
  filter: ScopedFilter,
  page: CandidatePage,
  columns: string,
): Promise<Row[]> {
  const compiled = compileFilter(filter, page.asOfMs, { firstParam: 5 });
  const params = paramsFrom(5 + compiled.values.length);
  const kinds = kindConditions(filter, params);
  // One statement, so that an event is seen in the kind that the same snapshot counts.
  const text = `with kinds as materialized (
       select l.fingerprint, l.source_id, l.status, sum(l.n) as n
         from dlq_group_levels l where ${kinds} group by l.fingerprint, l.source_id, l.status
     ), shares as materialized (
       select k.fingerprint, k.source_id,
              greatest(16, ceil($4::float8 * sum(n)::float8 / greatest(1, sum(sum(n)) over ())::float8))::int as most
         from kinds k group by 1, 2
     ), ranges as materialized (
       select s.most, array(
         select e.id from dlq_events e where ${IN_RANGE} and ${BEHIND_CURSOR}${windowOf(compiled)}
          order by e.id desc limit s.most) as ids
         from (${rangesOf("select * from kinds")}) r join shares s using (fingerprint, source_id)
     ), place as materialized (
       select (select r.ids[r.most] from ranges r where r.ids[r.most] is not null order by 1 desc limit 1) as reached
     )
     select p.reached, c.* from place p left join lateral (
       select e.* from (select id from ranges r, unnest(r.ids) as id where p.reached is null or id >= p.reached) i
         cross join lateral (
           select ${columns} from dlq_event_rows e join sources s on s.id = e.source_id
            where e.id = i.id and ${compiled.where} offset 0) e
        order by e.id desc limit $3) c on true`;
  const found: Row[] = [];
  let after = page.after;
  for (let round = 2 * page.limit; ; round = Math.min(ROUND_MAX, round * 2)) {
    const left = page.limit - found.length;
    const rows = await db.query<{ reached: string | null } & Row>(
      text,
      [page.cutoff, after, left, round, ...compiled.values, ...params.values],
      { name: "kind-candidates" },
    );
    for (const row of rows) if (row.id !== null) found.push(row);
    after = rows[0]!.reached;
    if (after === null || found.length >= page.limit) return found;
  }
}

/** Bytes of the payloads of these events as they arrived, by id. */
export async function readPayloadBytes(db: Queryable, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; bytes: number }>(
    `select e.id, e.payload_bytes as bytes from dlq_event_rows e where e.id = any($1::uuid[])`,
    [ids],
    { name: "payload-bytes" },
  );
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}

/** Selected events that the gate may treat alike, by what all of them have in common. */
export type CandidateCount = { source: string; errorCode: string; status: string; count: number };

/** Counts a selection. */
export async function countCandidates(db: Queryable, page: Selected): Promise<CandidateCount[]> {
  const { where, values } = await selectedWhere(db, page, 2);
  return db.query<CandidateCount>(
    `select s.name as source, g.error_code as "errorCode", g.status, g.n as count
       from (select e.source_id, e.error_code, e.status, count(*) as n from dlq_event_rows e
              where e.id <= $1 and ${where} group by 1, 2, 3) g
       join sources s on s.id = g.source_id`,
    [page.cutoff, ...values],
  );
}

/** Up to `limit` matches: distinguishes none, few and many without counting millions. */
export async function countUpTo(db: Queryable, page: Selected, limit: number): Promise<number> {
  const compiled = await selectedWhere(db, page, 3);
  const [row] = await db.query<{ n: number }>(
    `select count(*) as n from (
       select 1 from dlq_event_rows e where e.id <= $1 and ${compiled.where} limit $2) few`,
    [page.cutoff, limit, ...compiled.values],
  );
  return row!.n;
}

type Plan = { "QUERY PLAN": [{ Plan: { "Plan Rows": number } }] };

/** The planner's guess of how many events match, at least `atLeast`. Good enough to choose the number of slices. */
export async function estimateCandidates(tx: Tx, page: Selected, atLeast: number): Promise<number> {
  const compiled = compileSelection(page.selection, page.asOfMs, 2);
  const [row] = await tx.query<Plan>(
    `explain (format json) select 1 from dlq_event_rows e where e.id <= $1 and ${compiled.where}`,
    [page.cutoff, ...compiled.values],
  );
  return Math.max(atLeast, Math.round(row!["QUERY PLAN"][0].Plan["Plan Rows"]));
}
