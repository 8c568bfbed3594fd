import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import type {
  BulkOperationChange,
  BulkOperationList,
  BulkOperationOut,
} from "@/lib/events/bulk/bulk-operations.shapes";
import type { BulkAnswer, EventCounts } from "@/lib/events/events.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { followedIds } from "@/lib/platform/browser/followed.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { BULK_BEGINS, type BulkKind, type BulkState } from "@/lib/states/bulk-operation.pure";

const LIVE_MS = 1_000;
const LIST_LIVE_MS = 3_000;
const LIST_IDLE_MS = 15_000;
const PAGE = 50;

type BulkChange = {
  kind: BulkKind;
  select: Selection;
  reason: string;
  /** For a release: failures, redrives and cooldown stay unchanged. */
  keepLimits?: boolean;
  /** Names of the channels that are notified when the operation ends or stalls. */
  tell?: string[];
};

/** Changes the status of events. BulkAnswer says which part was done before the answer. */
export async function changeEvents(
  client: QueryClient,
  { kind, ...change }: BulkChange,
  idempotencyKey = randomKey(),
): Promise<BulkAnswer> {
  const body = kind === "confirm" ? { ...change, consumer: "console" } : change;
  const headers = { "idempotency-key": idempotencyKey };
  const answer = await fetchJson<BulkAnswer>(`/api/v1/events/${kind}`, { method: "POST", body, headers });
  await invalidateAfter(client, "events");
  return answer;
}

/**
 * How many events match a selection that arrived after it was counted, and were left out of its change. Best effort: 0 where it is
 * not known.
 */
export async function arrivedSince(selection: Selection, cutoff: string | null): Promise<number> {
  if (cutoff === null || !("filter" in selection)) return 0;
  const filter = { ...selection.filter, from: new Date(Date.parse(cutoff) + 1).toISOString() };
  try {
    return (await fetchJson<EventCounts>(`/api/v1/events/count?${toSearchParams(filter)}`)).total.value ?? 0;
  } catch {
    // The window ends before the count: nothing can arrive in it.
    return 0;
  }
}

/**
 * Operations that were started in this browser and whose end is shown in a toast. One is to be followed where the toast of its
 * beginning is made: an end that came first would be replaced by it.
 */
export const followedOperations = followedIds("parkade.followed-operations");

export function useBulkOperations(state: BulkState | "all") {
  const path = `/api/v1/operations?limit=${PAGE}${state === "all" ? "" : `&state=${state}`}`;
  return usePages<BulkOperationList>("operations", path, (pages) =>
    pages.some(({ items }) => items.some(runs)) ? LIST_LIVE_MS : LIST_IDLE_MS,
  );
}

/** The running operations. Polled only while `some` run. */
export const useRunningOperations = (some: boolean) =>
  useRead<BulkOperationList>("operations", `/api/v1/operations?state=${BULK_BEGINS}&limit=5`, {
    enabled: some,
    refetchInterval: LIVE_MS,
    retry: false,
  });

const pathOf = (id: string) => `/api/v1/operations/${encodeURIComponent(id)}`;

/** `inBackground`: also while the person looks at another tab. */
export const useBulkOperation = (id: string | null, { inBackground = false } = {}) =>
  useRead<BulkOperationOut>("operations", id === null ? null : pathOf(id), {
    refetchInterval: ({ state: { data } }) => (data && !runs(data) && !data.undo?.running ? false : LIVE_MS),
    refetchIntervalInBackground: inBackground,
  });

export function useChangeBulkOperation(id: string) {
  const client = useQueryClient();
  return useMutation<BulkOperationOut, ApiError, BulkOperationChange>({
    mutationFn: (body) => fetchJson<BulkOperationOut>(pathOf(id), { method: "PATCH", body }),
    onSuccess: (operation) => {
      client.setQueryData(keys.operations.detail(id), operation);
      void invalidateAfter(client, "events");
    },
  });
}

export function runs({ state }: Pick<BulkOperationOut, "state">): boolean {
  return state === BULK_BEGINS;
}
