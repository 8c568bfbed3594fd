import type { EventCounts, EventOut } from "@/lib/events/events.shapes";
import type { ControlRequest } from "@/lib/order/controls/controls.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import type { Picked } from "@/lib/selection/selection.browser";
import type { BulkKind } from "@/lib/states/bulk-operation.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

export type BulkAction = "verify" | "redrive" | Exclude<BulkKind, "expire"> | "cooldown" | "blacklist";

/**
 * The scope that a control over the selection probably means. A control is a rule and holds for later events too. The
 * scope is the aggregate that all selected events share, else their error code, else their source; null when they share
 * none, and the person chooses. It is limited to their source and type when they share these.
 */
export function commonScope(
  picked: Picked,
  filter: EventFilter,
  loaded: readonly EventOut[],
): ControlRequest["scope"] | null {
  if (picked.kind === "none") return null;
  if (picked.kind === "all") {
    const only = (values: string[] | undefined) => (values?.length === 1 ? values[0] : undefined);
    const eventId = only(filter.eventId);
    const aggregateId = only(filter.aggregateId);
    const errorCode = only(filter.errorCode);
    const source = only(filter.source);
    const within = source === undefined ? {} : { source };
    if (eventId !== undefined) return { eventId, ...within };
    if (aggregateId !== undefined) return { aggregateId, ...within };
    if (errorCode !== undefined) return { errorCode, ...within };
    return source === undefined ? null : { source };
  }
  const events = loaded.filter((event) => picked.ids.has(event.id));
  const [first] = events;
  // Rows that are no longer loaded may differ, so no common value is known.
  if (!first || events.length < picked.ids.size) return null;
  if (events.length === 1) return { eventId: first.eventId, source: first.source };
  const shared = (value: (event: EventOut) => string | null) =>
    events.every((event) => value(event) === value(first)) ? value(first) : null;
  const source = shared((event) => event.source);
  const within = source === null ? {} : { source };
  const aggregateId = shared((event) => event.aggregateId);
  const aggregateType = shared((event) => event.aggregateType);
  if (aggregateId !== null) return { aggregateId, ...(aggregateType ? { aggregateType } : {}), ...within };
  const errorCode = shared((event) => event.errorCode);
  if (errorCode !== null) return { errorCode, ...within };
  return source === null ? null : { source };
}

/** Whether the selection may hold ignored events. For "all matching" the filter decides, not the loaded rows. */
export function mayHoldIgnored(picked: Picked, filter: EventFilter, loaded: readonly EventOut[]): boolean {
  if (picked.kind === "none") return false;
  if (picked.kind === "all") {
    return filter.status?.includes("IGNORED") ?? !filter["not.status"]?.includes("IGNORED");
  }
  return loaded.some((event) => event.status === "IGNORED" && picked.ids.has(event.id));
}

/**
 * Whether the selection certainly holds no event in one of these states: all its events are loaded, or all matching
 * events are counted exactly. Unknown is false.
 */
export function holdsNone(
  picked: Picked,
  states: readonly (EventStatus | "CONFIRMED")[],
  loaded: readonly EventOut[],
  counts: EventCounts | undefined,
): boolean {
  if (picked.kind === "none") return true;
  if (picked.kind === "all") {
    if (counts?.total.kind !== "exact" || counts.total.value === null) return false;
    return states.every((state) => (counts.byStatus[state]?.value ?? 0) === 0);
  }
  const events = loaded.filter((event) => picked.ids.has(event.id));
  const isIn = ({ status, confirmedAt }: EventOut) =>
    states.includes(status) || (status === "REDRIVEN" && confirmedAt !== null && states.includes("CONFIRMED"));
  return events.length === picked.ids.size && !events.some(isIn);
}
