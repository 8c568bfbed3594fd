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
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { resourceOf, useChange, useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 10_000;
const PAGE = 50;

/** @param state `live`: in force now; `ended`: lifted or expired, newest first */
export const useControls = (state: "live" | "ended") =>
  usePages<ControlList>("controls", `/api/v1/controls?state=${state}&limit=${PAGE}`, () =>
    state === "live" ? POLL_MS : false,
  );

/** The number of parked events that match a filter. `enabled`: false without a filter. */
export const useCaught = (filter: EventFilter, enabled: boolean) =>
  useRead<EventCounts>("events", `/api/v1/events/count?${toSearchParams(filter)}`, {
    enabled,
    staleTime: POLL_MS,
  });

/** `underWay`: covered events whose send had not ended at the answer; null = the server could not read it. */
type ControlImposed = ControlOut & { underWay: number | null };

export const { useCreate: useImposeControl, useRemove: useLiftControl } = resourceOf<ControlImposed, ControlRequest>(
  "/api/v1/controls",
  "controls",
);

const LIFT = "/api/v1/controls/lift";

/** The number of controls in force that a lift of this filter would end. */
export const useLiftable = (filter: LiftFilter) =>
  useRead<LiftedMany>("controls", LIFT, { asks: { filter, dryRun: true, reason: "count" } });

/** Lifts all controls of a filter, or undoes such a lift. */
export const useLiftMany = () =>
  useChange("controls", (body: ({ filter: LiftFilter } | { undo: string }) & { reason: string }) =>
    fetchJson<LiftedMany>(LIFT, { method: "POST", body, once: true }),
  );
