import {
  type InfiniteData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { EventCounts } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/events/filter/filter-params.shapes";
import type {
  ControlList,
  ControlOut,
  ControlRequest,
  LiftedMany,
  LiftFilter,
} from "@/lib/order/controls/controls.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";

const POLL_MS = 10_000;
const PAGE = 50;

/** @param state `live`: in force now; `ended`: lifted or expired, newest first */
export function useControls(state: "live" | "ended") {
  return useInfiniteQuery<ControlList, ApiError, InfiniteData<ControlList>, readonly unknown[], string | null>({
    queryKey: keys.controls({ state }),
    queryFn: ({ signal, pageParam }) => {
      const params = new URLSearchParams({ state, limit: String(PAGE) });
      if (pageParam) params.set("cursor", pageParam);
      return fetchJson<ControlList>(`/api/v1/controls?${params}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: state === "live" ? POLL_MS : false,
    persister: unlessUnchanged,
  });
}

/** The number of parked events that match a filter. `enabled`: false without a filter. */
export function useCaught(filter: EventFilter, enabled: boolean) {
  return useQuery<EventCounts, ApiError>({
    queryKey: keys.events.count(filter),
    queryFn: ({ signal }) => fetchJson<EventCounts>(`/api/v1/events/count?${toSearchParams(filter)}`, { signal }),
    enabled,
    staleTime: POLL_MS,
  });
}

/** `underWay`: covered events whose send had not ended at the answer; null = the server could not read it. */
type ControlImposed = ControlOut & { underWay: number | null };

export async function imposeControl(client: QueryClient, body: ControlRequest): Promise<ControlImposed> {
  const imposed = await fetchJson<ControlImposed>("/api/v1/controls", { method: "POST", body, once: true });
  void invalidateAfter(client, "controls");
  return imposed;
}

export function useImposeControl() {
  const client = useQueryClient();
  return useMutation<ControlImposed, ApiError, ControlRequest>({ mutationFn: (body) => imposeControl(client, body) });
}

const LIFT = "/api/v1/controls/lift";

/** The number of controls in force that a lift of this filter would end. */
export function useLiftable(filter: LiftFilter) {
  return useQuery<LiftedMany, ApiError>({
    queryKey: keys.controls({ liftable: filter }),
    queryFn: ({ signal }) =>
      fetchJson<LiftedMany>(LIFT, {
        method: "POST",
        body: { filter, dryRun: true, reason: "count" },
        signal,
        reads: true,
      }),
  });
}

export async function liftControls(
  client: QueryClient,
  body: { filter: LiftFilter; reason: string },
): Promise<LiftedMany> {
  const lifted = await fetchJson<LiftedMany>(LIFT, { method: "POST", body, once: true });
  void invalidateAfter(client, "controls");
  return lifted;
}

export async function undoLift(client: QueryClient, id: string): Promise<LiftedMany> {
  const body = { undo: id, reason: "the lift was undone" };
  const undone = await fetchJson<LiftedMany>(LIFT, { method: "POST", body, once: true });
  void invalidateAfter(client, "controls");
  return undone;
}

type Lift = { id: string; reason: string };

export async function liftControl(client: QueryClient, { id, reason }: Lift): Promise<void> {
  await fetchJson(`/api/v1/controls/${encodeURIComponent(id)}`, { method: "DELETE", body: { reason } });
  void invalidateAfter(client, "controls");
}

export function useLiftControl() {
  const client = useQueryClient();
  return useMutation<void, ApiError, Lift>({ mutationFn: (lift) => liftControl(client, lift) });
}
