import type { QueryClient } from "@tanstack/react-query";
import { RESTORED_MAX } from "@/lib/keep/archive/archive.pure";
import type { ArchivedEvent, ArchivedList, RestoreAnswer } from "@/lib/keep/archive/archive.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

const POLL_MS = 10_000;
const PAGE = 100;
/** Archived events that are counted for a line of text; beyond it the line says "or more". */
const COUNTED_MAX = 100;

/** The restrictions of the list, by their names in the query string. */
const ARCHIVE_FILTER_NAMES = ["eventId", "aggregateId", "source", "errorCode", "from", "to", "operation"] as const;
export type ArchiveFilter = Partial<Record<(typeof ARCHIVE_FILTER_NAMES)[number], string>>;

/** What the address of the archive names. Other names are not read. */
export function archiveFilterOf(params: { get(name: string): string | null }): ArchiveFilter {
  const filter: ArchiveFilter = {};
  for (const name of ARCHIVE_FILTER_NAMES) {
    const value = params.get(name);
    if (value) filter[name] = value;
  }
  return filter;
}

function paramsOf(filter: ArchiveFilter): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of ARCHIVE_FILTER_NAMES) if (filter[name]) params.set(name, filter[name]);
  return params;
}

export function archiveHref(filter: ArchiveFilter): string {
  const query = paramsOf(filter).toString();
  return query === "" ? "/archive" : `/archive?${query}`;
}

const listPath = (filter: ArchiveFilter, limit: number) => `/api/v1/archive?limit=${limit}&${paramsOf(filter)}`;

export function useArchive(filter: ArchiveFilter) {
  return usePages<ArchivedList>("archive", listPath(filter, PAGE), firstPageEvery(POLL_MS));
}

/**
 * The filters of the archive that a filter of the events list stands for: one where it names one event or one aggregate. A
 * single word that is searched for may be either. A name with several values does not narrow it, because the archive takes one.
 */
export function archiveFiltersFor(filter: EventFilter): ArchiveFilter[] {
  const only = (values: string[] | undefined) => (values?.length === 1 ? values[0] : undefined);
  const eventId = only(filter.eventId);
  const aggregateId = only(filter.aggregateId);
  const within = (named: ArchiveFilter): ArchiveFilter => {
    const all = { ...named, source: only(filter.source), errorCode: only(filter.errorCode) };
    return archiveFilterOf({ get: (name) => all[name as keyof ArchiveFilter] ?? null });
  };
  if (eventId !== undefined || aggregateId !== undefined) return [within({ eventId, aggregateId })];
  const word = filter.q?.trim();
  return word && !/\s/.test(word) ? [within({ eventId: word }), within({ aggregateId: word })] : [];
}

/** How many archived events match. `more`: there are more than were counted. */
export const useArchivedCount = (filter: ArchiveFilter) =>
  useRead<ArchivedList, { count: number; more: boolean }>("archive", listPath(filter, COUNTED_MAX), {
    select: ({ items, nextCursor }) => ({ count: items.length, more: nextCursor !== null }),
    retry: false,
  });

/** The event as it lies in the archive, by the id that it had in the store; null = it does not. */
export const useArchivedEvent = (id: string) =>
  useRead<ArchivedList, { event: ArchivedEvent | null; place: string | null }>(
    "archive",
    UUID.test(id) ? `/api/v1/archive?limit=1&id=${encodeURIComponent(id)}` : null,
    { select: ({ items: [event], place }) => ({ event: event ?? null, place }), retry: false },
  );

/** Puts archived events back into the store, in as many requests as they need. */
export async function restoreArchived(client: QueryClient, ids: readonly string[]): Promise<RestoreAnswer> {
  const sum: RestoreAnswer = { restored: 0, duplicates: 0, refused: [], next: null };
  try {
    for (let at = 0; at < ids.length; at += RESTORED_MAX) {
      addTo(sum, await restore({ ids: ids.slice(at, at + RESTORED_MAX) }));
    }
  } finally {
    await invalidateAfter(client, "events");
  }
  return sum;
}

/** Restores what an operation removed, page by page. Restored events stay when a later page fails. `onProgress` gets their number so far. */
export async function restoreRemoved(
  client: QueryClient,
  operation: string,
  onProgress: (restored: number) => void,
): Promise<RestoreAnswer> {
  const sum: RestoreAnswer = { restored: 0, duplicates: 0, refused: [], next: null };
  try {
    for (let after: string | null = null, more = true; more; more = after !== null) {
      const answer: RestoreAnswer = await restore(after === null ? { operation } : { operation, after });
      addTo(sum, answer);
      onProgress(sum.restored);
      after = answer.next;
    }
  } finally {
    await invalidateAfter(client, "events");
  }
  return sum;
}

function restore(body: object): Promise<RestoreAnswer> {
  return fetchJson<RestoreAnswer>("/api/v1/archive/restore", { method: "POST", body });
}

function addTo(sum: RestoreAnswer, { restored, duplicates, refused }: RestoreAnswer): void {
  sum.restored += restored;
  sum.duplicates += duplicates;
  sum.refused.push(...refused);
}
