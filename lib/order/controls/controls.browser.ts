import { useQuery } from "@tanstack/react-query";
import type { EventCounts } from "@/lib/events/events.shapes";
import type {
  ControlList,
  ControlOut,
  ControlRequest,
  LiftedMany,
  LiftFilter,
} from "@/lib/order/controls/controls.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { controlsPath } from "@/lib/platform/api/first-reads.pure";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { resourceOf, useChange, useRead } from "@/lib/platform/browser/resource.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

const POLL_MS = 10_000;
const PATH = "/api/v1/controls";
const LIFT = `${PATH}/lift`;

export const useControls = (state: "live" | "ended") =>
  usePages<ControlList>("controls", controlsPath(state), () => state === "live" && POLL_MS, {
    persister: unlessUnchanged,
  });

/** The number of parked events that match a filter. `enabled`: false without a filter. */
export function useMatches(filter: EventFilter, enabled: boolean) {
  return useQuery<EventCounts, ApiError>({
    queryKey: keys.events.count(filter),
    queryFn: ({ signal }) => fetchJson<EventCounts>(`/api/v1/events/count?${toSearchParams(filter)}`, { signal }),
    enabled,
    staleTime: POLL_MS,
  });
}

/** `underWay`: covered events whose send had not ended at the answer; null = the server could not read it. */
type ControlImposed = ControlOut & { underWay: number | null };

export const { useCreate: useImposeControl, useRemove: useLiftControl } = resourceOf<ControlImposed, ControlRequest>(
  PATH,
  "controls",
);

/** The number of controls in force that a lift of this filter would end. */
export const useLiftable = (filter: LiftFilter) =>
  useRead<LiftedMany>("controls", LIFT, { asks: { filter, dryRun: true, reason: "count" } });

/** Lifts all controls that match, or undoes such a lift. */
export const useLiftControls = () =>
  useChange("controls", (body: { filter: LiftFilter; reason: string } | { undo: string; reason: string }) =>
    fetchJson<LiftedMany>(LIFT, { method: "POST", body, once: true }),
  );
