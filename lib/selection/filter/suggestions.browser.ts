import { useQuery } from "@tanstack/react-query";
import type { GroupList } from "@/lib/events/events.shapes";
import { groupName } from "@/lib/events/groups/group-names.browser";
import type { TopErrors } from "@/lib/observe/stats/stats.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { FILTER_NAMES, FILTER_STATUSES } from "@/lib/selection/filter/filter-params.shapes";
import type { SourceList } from "@/lib/sources/sources.shapes";
import { ADMISSION_MARKS, type AdmissionMark } from "@/lib/states/admission-mark.pure";

/** Values worth offering change slowly. */
const STALE_MS = 60_000;

/** `label`: what is shown in place of the value. */
export type Suggestion = { value: string; label?: string; hint?: string };

const NAME_HINTS: Record<string, string> = {
  errorCode: "class of the failure",
  source: "where it was parked from",
  aggregateId: "the entity it belongs to",
  aggregateType: "type of that entity",
  eventId: "the producer's id",
  eventType: "what happened",
  fingerprint: "one group",
  status: "state of the event",
  traceId: "one trace",
  admission: "mark given by an admission rule",
  failedFrom: "last failed since: -7d, 2026-11-20",
  failedTo: "last failed before",
};

const MARK_HINTS: Record<AdmissionMark, string> = {
  early: "its failure is permanent",
  superseded: "a newer version had been processed",
  confirm: "its redrive must be confirmed",
};

/** The names of qualifiers. The window and the words have their own controls. */
export const NAME_SUGGESTIONS: Suggestion[] = [
  "errorCode",
  "status",
  "source",
  "aggregateId",
  "aggregateType",
  "eventType",
  "eventId",
  "fingerprint",
  "traceId",
  "admission",
  "failedFrom",
  "failedTo",
]
  .filter((name) => FILTER_NAMES.includes(name))
  .map((value) => ({ value, hint: NAME_HINTS[value] }));

/** Names whose values are known. */
const CLOSED: Record<string, Suggestion[]> = {
  status: FILTER_STATUSES.map((value) => ({ value })),
  admission: ADMISSION_MARKS.map((value) => ({ value, hint: MARK_HINTS[value] })),
};

async function fetchValues(name: string, signal: AbortSignal): Promise<Suggestion[]> {
  switch (name) {
    case "errorCode": {
      const top = await fetchJson<TopErrors>("/api/v1/stats/top-errors", { signal });
      return top.buckets.map((entry) => ({ value: entry.errorCode, hint: entry.count.toLocaleString("en-GB") }));
    }
    case "source": {
      const sources = await fetchJson<SourceList>("/api/v1/sources", { signal });
      return sources.items.map((source) => ({ value: source.name, hint: source.kind }));
    }
    case "fingerprint": {
      const groups = await fetchJson<GroupList>("/api/v1/groups?limit=50", { signal });
      return groups.items.map((group) => ({
        value: group.fingerprint,
        label: groupName(group),
        hint: group.errorCode,
      }));
    }
    default:
      return [];
  }
}

/** The known values of one name; empty for names with unlimited values (ids), and after a failed read. */
export function useValueSuggestions(name: string | null): Suggestion[] {
  const { data } = useQuery({
    queryKey: ["suggestions", name],
    queryFn: ({ signal }) => fetchValues(name ?? "", signal),
    enabled: name === "errorCode" || name === "source" || name === "fingerprint",
    staleTime: STALE_MS,
    retry: false,
  });
  return CLOSED[name ?? ""] ?? data ?? [];
}

/** Values that begin with the typed text, then values that contain it; case does not matter. */
export function matching(all: Suggestion[], part: string, limit = 8): Suggestion[] {
  const wanted = part.toLowerCase();
  const starts = all.filter(({ value }) => value.toLowerCase().startsWith(wanted));
  const holds = all.filter(({ value, label = "", hint = "" }) => {
    const lower = value.toLowerCase();
    return !lower.startsWith(wanted) && `${lower} ${label} ${hint}`.toLowerCase().includes(wanted);
  });
  return [...starts, ...holds].slice(0, limit);
}
