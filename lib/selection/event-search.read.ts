import { readInLongLines } from "@/lib/order/tails/held-behind.read";
import type { Queryable } from "@/lib/platform/database/db";
import { type Params, paramsFrom } from "@/lib/platform/database/params.sql";
import { controlledParts } from "@/lib/selection/controlled-parts.read";
import { KIND_ROWS_MAX, kindShare, narrowToKinds } from "@/lib/selection/event-kinds.read";
import {
  type CompiledFilter,
  type CompileOptions,
  compileFilter,
  type FilterField,
  GROUP_TEXT,
  isHeldOnly,
  splitStatuses,
  wordPatterns,
} from "@/lib/selection/filter/event-filter.sql";
import { likePattern, wordsOf } from "@/lib/selection/filter/search-words.pure";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

/**
 * A search selects the events of the groups that hold all its words, which an index finds, and events that hold words in their own
 * last error. No index holds last errors: they are read, about a microsecond each, and only a window or the statement timeout,
 * whose error asks for a window, bounds how many. A time of failure, which an index holds, is of the same table, and bounds them as well;
 * without words it is a search that no group decides.
 */
export type Search = {
  /** The fingerprints of the groups that hold all words. */
  groups: readonly string[];
  /** SQL over `e` (dlq_event_facts): what is true of each matching event of other groups. */
  inFacts(params: Params): string;
};

/** Whether there are words or times of failure, and no other names of the filter that find few events. */
export function maySearch(filter: ScopedFilter): boolean {
  return (filter.q !== undefined || isByFailure(filter)) && !isNarrow(filter);
}

/** null: there are neither words nor times of failure, or other names of the filter find fewer events. */
export async function readSearch(db: Queryable, filter: ScopedFilter): Promise<Search | null> {
  const { q } = filter;
  if (!maySearch(filter)) return null;
  const share = await kindShare(db, filter);
  if (share !== null && share.events <= KIND_ROWS_MAX) return null;
  if (q === undefined) return { groups: [], inFacts: () => "true" };
  const words = wordsOf(q);
  const { groups, lacking } = await readGroups(db, words);
  const sets = leastSets(lacking);
  const inFacts = (params: Params) => {
    if (sets.length === 0 || sets.length > SETS_MAX || sets[0]!.length === 0) {
      return `lower(e.last_error) like any (${wordPatterns(params.add(words.map(likePattern)))})`;
    }
    return `(${sets.map((set) => lastErrorHolds(set, params)).join(" or ")})`;
  };
  return { groups, inFacts };
}

/** The rarest word is looked for first, and quicker. */
function lastErrorHolds([longest, ...others]: readonly string[], params: Params): string {
  const first = `strpos(lower(e.last_error), lower(${params.add(longest)}::text)) > 0`;
  if (others.length === 0) return first;
  return `${first} and lower(e.last_error) like all (${wordPatterns(params.add(others.map(likePattern)))})`;
}

const isByFailure = ({ failedFrom, failedTo }: ScopedFilter) => failedFrom !== undefined || failedTo !== undefined;

/** Ids, and refinements and marks, whose indexes hold few events. Nearly all events may be HELD, behind one. */
export function isNarrow({ eventId, aggregateId, traceId, admission, status }: ScopedFilter): boolean {
  const { refined } = splitStatuses(status ?? []);
  const fewRefined = refined.length > 0 && !refined.includes("HELD");
  return Boolean(eventId ?? aggregateId ?? traceId ?? admission) || fewRefined;
}

/** Of a long search, as many of its longest words tell well enough which events can match. */
const WORDS_TOLD = 12;
/** With more sets, a last error is compared more often than it is worth. */
const SETS_MAX = 8;

/** Groups that hold all words; and, of the others, the different sets of words that they lack: an event needs one of these. */
async function readGroups(
  db: Queryable,
  words: readonly string[],
): Promise<{ groups: string[]; lacking: (readonly string[])[] }> {
  const told = words.slice(0, WORDS_TOLD);
  const rows = await db.query<{ lacks: number[]; groups: string[] | null; isOthers: boolean }>(
    `with texts as materialized (select g.fingerprint, lower(${GROUP_TEXT}) as text from dlq_groups g)
     select lacks, array_agg(fingerprint) filter (where holds) as groups, not bool_and(holds) as "isOthers"
       from (select fingerprint, text like all (${wordPatterns("$1")}) as holds,
                    array(select n::int from unnest($2::text[]) with ordinality as w (pattern, n)
                           where text not like lower(w.pattern) order by n) as lacks from texts) t
      group by lacks`,
    [words.map(likePattern), told.map(likePattern)],
    { name: "search-groups" },
  );
  return {
    groups: rows.flatMap(({ groups }) => groups ?? []),
    lacking: rows.flatMap(({ lacks, isOthers }) => (isOthers ? [lacks.map((n) => told[n - 1]!)] : [])),
  };
}

/** Without those that hold another one: where a text holds all of a set, it holds all of each smaller one. */
function leastSets(sets: readonly (readonly string[])[]): (readonly string[])[] {
  const least: (readonly string[])[] = [];
  for (const set of sets.toSorted((a, b) => a.length - b.length)) {
    if (!least.some((smaller) => smaller.every((word) => set.includes(word)))) least.push(set);
  }
  return least;
}

/** The part of a filter that its groups decide: the events of those that hold all words. null = there are none. */
export function inGroups({ q: _q, ...rest }: ScopedFilter, { groups }: Search): ScopedFilter | null {
  const asked = rest.fingerprint;
  const fingerprint = asked ? groups.filter((group) => asked.includes(group)) : [...groups];
  return fingerprint.length === 0 ? null : ({ ...rest, fingerprint } as ScopedFilter);
}

/** Fields whose conditions are over columns of dlq_event_facts, too. */
export const IN_FACTS: readonly FilterField[] = ["window", "failedFrom", "failedTo"];

/** SQL over `e`: true of each match of other groups, since its facts are among those that the words are in. */
export function isInFacts(search: Search, { conditions }: Pick<CompiledFilter, "conditions">, params: Params): string {
  const own = conditions.flatMap(({ field, sql }) => (IN_FACTS.includes(field) ? [sql] : []));
  return `e.id in (select e.id from dlq_event_facts e where ${[...own, search.inFacts(params)].join(" and ")})`;
}

/**
 * The same conditions with the kinds and the facts that can match. `firstParam`: the number of the first parameter of `compiled`.
 */
export async function narrow(
  db: Queryable,
  filter: ScopedFilter,
  compiled: Pick<CompiledFilter, "where" | "values" | "conditions">,
  firstParam: number,
): Promise<Pick<CompiledFilter, "where" | "values">> {
  const { where, values } = await narrowToKinds(db, filter, compiled, firstParam);
  const search = await readSearch(db, filter);
  if (search === null) {
    const ids = isHeldOnly(filter) && !isNarrow(filter) ? await readInLongLines(db) : null;
    if (ids === null) return { where, values };
    return { where: `e.id = any($${firstParam + values.length}::uuid[]) and ${where}`, values: [...values, ids] };
  }
  const params = paramsFrom(firstParam + values.length);
  const inFacts = isInFacts(search, compiled, params);
  const { groups } = search;
  const ofThese = () => `e.fingerprint in (select unnest(${params.add(groups)}::text[]))`;
  const found = groups.length === 0 ? inFacts : `(${ofThese()} or ${inFacts})`;
  return { where: `${found} and ${where}`, values: [...values, ...params.values] };
}

/** Merges the rows of several reads, which may overlap, into a page. */
export function mergedPage<Row extends { id: string }>(
  { towards, limit }: { towards: "older" | "newer"; limit: number },
  found: readonly Row[],
): Row[] {
  const rows = [...new Map(found.map((row) => [row.id, row])).values()];
  const order = towards === "newer" ? 1 : -1;
  return rows.sort((a, b) => (a.id < b.id ? -order : order)).slice(0, limit);
}

/**
 * Splits the conditions of a filter into parts, each with the kinds and the facts that can match. Parts may overlap.
 * No part: nothing matches.
 */
export async function narrowParts(
  db: Queryable,
  filter: ScopedFilter,
  nowMs: number,
  window?: CompileOptions["window"],
): Promise<{ wheres: string[]; values: unknown[] }> {
  const parts = (window ? null : await controlledParts(db, filter)) ?? [{ filter }];
  const values: unknown[] = [];
  const wheres: string[] = [];
  for (const { filter: part, hint, ids } of parts) {
    const firstParam = values.length + 1;
    const compiled = await narrow(db, part, compileFilter(part, nowMs, { window, firstParam }), firstParam);
    values.push(...compiled.values);
    const among = ids ? `e.id = any($${values.push(ids)}::uuid[])` : hint;
    wheres.push(among ? `${compiled.where} and ${among}` : compiled.where);
  }
  return { wheres, values };
}
