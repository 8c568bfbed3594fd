import { keepPreviousData, type UseQueryResult } from "@tanstack/react-query";
import type { Against } from "@/lib/observe/stats/difference.pure";
import type { Differences } from "@/lib/observe/stats/differences.shapes";
import type {
  AgeStats,
  FlowStats,
  Markers,
  RedriveSuccess,
  SizeStats,
  TopErrors,
} from "@/lib/observe/stats/stats.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { differencesPath } from "./differences-address.browser";

const POLL_MS = 10_000;
/** They compare hours: a poll each few seconds changes nothing in them. */
const DIFFERENCES_POLL_MS = 30_000;

type StatsByName = {
  size: SizeStats;
  flow: FlowStats;
  age: AgeStats;
  "top-errors": TopErrors;
  "redrive-success": RedriveSuccess;
  markers: Markers;
};

/** `source`: null = all. */
export function useDifferences(against: Against, source: string | null): UseQueryResult<Differences, ApiError> {
  return useRead<Differences>("stats", differencesPath(against, source), {
    refetchInterval: DIFFERENCES_POLL_MS,
    persister: unlessUnchanged,
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** What happened in the window of a chart, of the sources of its filter; none where the read of it failed. */
export function useMarkers({
  from,
  to,
  source,
}: Pick<EventFilter, "from" | "to" | "source">): Markers["items"] | "pending" {
  const filter = { ...(from && { from }), ...(to && { to }), ...(source && { source }) };
  const { data, isPending } = useStats("markers", filter);
  return isPending ? "pending" : (data?.items ?? []);
}

/** The width of the buckets of a chart; without it the server chooses by the window. */
type Bucketing = { bucket?: string };

/** One part of the overview, read on its own: a timeout affects this part only, and its last good answer stays. */
export function useStats<Name extends keyof StatsByName>(
  name: Name,
  filter: EventFilter,
  { bucket }: Bucketing = {},
): UseQueryResult<StatsByName[Name], ApiError> {
  const params = toSearchParams(filter);
  if (bucket !== undefined) params.set("bucket", bucket);
  const query = params.toString();
  return useRead<StatsByName[Name]>("stats", `/api/v1/stats/${name}?${query}`, {
    refetchInterval: POLL_MS,
    persister: unlessUnchanged,
    placeholderData: keepPreviousData,
    // The next poll is the retry.
    retry: false,
  });
}
