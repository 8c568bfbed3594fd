import { maskNullable } from "@/lib/guard/masking/mask.pure";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { type Action, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { systemClock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createTurns } from "@/lib/platform/turns";
import { narrow } from "@/lib/selection/event-search.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { compileFilter, groupsHolding } from "@/lib/selection/filter/event-filter.sql";
import { holdsWords, likePattern, wordsOf } from "@/lib/selection/filter/search-words.pure";
import { type ScopedFilter, type ScopedSelection, scopeFilter, scopeSelection } from "@/lib/selection/scope.shapes";
import { SELECTED_IDS_MAX } from "@/lib/selection/selected-ids.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";

/** `scopeFilter` by the mask rules in force. Throws DomainError `forbidden`. */
export async function readScopedFilter(db: Queryable, viewer: Viewer, filter: EventFilter): Promise<ScopedFilter> {
  const shown = await searchShown(db, viewer, filter);
  return scopeFilter(viewer, shown, await masksOfSearch(db, viewer, shown));
}

/** `scopeSelection` by the mask rules in force. Throws DomainError `forbidden`. */
export async function readScopedSelection(
  db: Queryable,
  viewer: Viewer,
  action: Action,
  selection: Selection,
): Promise<ScopedSelection> {
  if (!("filter" in selection)) return scopeSelection(viewer, action, selection);
  const filter = await searchShown(db, viewer, selection.filter);
  const scoped = scopeSelection(viewer, action, { filter }, await masksOfSearch(db, viewer, filter));
  if (!("filter" in scoped)) return scoped;
  const { source } = scoped.filter;
  const ids = await readHeldIds(db, scoped.filter);
  if (ids !== null) return (source === undefined ? { ids } : { ids, sources: source }) as ScopedSelection;
  if (filter === selection.filter) return scoped;
  return { ...scoped, asked: source === undefined ? selection.filter : { ...selection.filter, source } };
}

/**
 * The events of a filter by HELD; null = it is by something else, or has none. A change of an event can end what holds others: a walk in
 * chunks would miss some of them, or reach some that were excluded. Throws DomainError `unsupported-filter`.
 */
async function readHeldIds(db: Queryable, filter: ScopedFilter): Promise<string[] | null> {
  if (filter["not.status"]?.includes("HELD")) {
    throw heldFault(
      "select.filter.not.status",
      "HELD cannot be excluded from a change, which can end what holds an event",
    );
  }
  if (!filter.status?.includes("HELD") || filter.status.includes("PENDING")) return null;
  const { where, values } = await narrow(db, filter, compileFilter(filter, systemClock.wallMs()), 1);
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_event_rows e where ${where} limit ${SELECTED_IDS_MAX + 1}`,
    values,
    { name: "held-ids" },
  );
  if (rows.length > SELECTED_IDS_MAX) {
    throw heldFault(
      "select.filter.status",
      `more than ${SELECTED_IDS_MAX} held events: narrow the filter by a source or a window`,
    );
  }
  return rows.length === 0 ? null : rows.map(({ id }) => id);
}

function heldFault(field: string, detail: string): DomainError {
  return new DomainError("unsupported-filter", `${field}: ${detail}`, { fields: [{ field, detail }] });
}

/** Read for a search by tags of somebody who may not reveal alone: no other is judged by them. */
async function masksOfSearch(db: Queryable, viewer: Viewer, filter: EventFilter): Promise<Masks | undefined> {
  const noTags = filter.tags === undefined && filter["not.tags"] === undefined;
  return noTags || may(viewer, "reveal") ? undefined : readMasks(db);
}

/** Each is masked in this process, which serves others meanwhile. */
const GROUPS_MAX = 20_000;

/**
 * For somebody who may not reveal, the words of a filter are the groups whose texts hold them as they are shown: masked by the rules
 * of every source. A last error is not searched, since only a value that stands in no text of a group is found there alone.
 */
async function searchShown(db: Queryable, viewer: Viewer, filter: EventFilter): Promise<EventFilter> {
  const { q, ...rest } = filter;
  if (q === undefined || may(viewer, "reveal")) return filter;
  const words = wordsOf(q);
  const [masks, groups] = await Promise.all([
    readMasks(db),
    db.query<{ fingerprint: string; code: string; type: string | null; pattern: string; frame: string | null }>(
      `select fingerprint, error_code as code, exception_type as type, message_pattern as pattern, first_frame as frame
         from dlq_groups where fingerprint in (${groupsHolding("$1")}) limit ${GROUPS_MAX + 1}`,
      [words.map(likePattern)],
      { name: "groups-shown" },
    ),
  ]);
  if (groups.length > GROUPS_MAX) {
    throw new DomainError("invalid-filter", `More than ${GROUPS_MAX} groups match these words: add a word`, {
      fields: [{ field: "q", detail: "add a word" }],
    });
  }
  const set = masks.of(null);
  const turns = createTurns(systemClock);
  const fingerprint: string[] = [];
  for (const group of groups) {
    if (turns.due()) await turns.give();
    const { code, type, pattern, frame } = group;
    const text = [code, maskNullable(type, set), maskText(pattern, set), frame].join(" ");
    if (holdsWords(text, words)) fingerprint.push(group.fingerprint);
  }
  const asked = rest.fingerprint;
  return { ...rest, fingerprint: asked ? fingerprint.filter((one) => asked.includes(one)) : fingerprint };
}
