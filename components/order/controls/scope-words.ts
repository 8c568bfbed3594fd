import type { ControlOut, ControlScopeName } from "@/lib/order/controls/controls.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

/** Narrowest first: a scope that names a source and something narrower is shown by the narrower. */
export const SCOPE_NAMES: readonly ControlScopeName[] = ["eventId", "aggregateId", "errorCode", "source"];

export const SCOPE_LABEL: Record<ControlScopeName, string> = {
  eventId: "event",
  aggregateId: "aggregate",
  errorCode: "error code",
  source: "source",
};

export const KIND_EFFECT: Record<ControlOut["kind"], string> = {
  blacklist: "Events that it matches are not redriven until it is lifted.",
  whitelist: "Events that it matches can be redriven during a cooldown. A blacklist that a person added still wins.",
  cooldown: "Events that it matches wait until the set time, then can be redriven again.",
};

/** The narrowest name of a control's scope. Every control has one; null keeps the page working if a stored control has none. */
export function scopeOf(scope: ControlOut["scope"]): { name: ControlScopeName; value: string } | null {
  for (const name of SCOPE_NAMES) {
    const value = scope[name];
    if (value !== undefined) return { name, value };
  }
  return null;
}

/** The restrictions of a scope: ` of type order, in orders only`. A control without a source holds in all sources. */
export function scopeLimits(scope: ControlOut["scope"]): string {
  const type = scope.aggregateType === undefined ? [] : [`of type ${scope.aggregateType}`];
  const name = scopeOf(scope)?.name;
  if (name === undefined || name === "source") return type.join(", ");
  return [...type, scope.source === undefined ? "in all sources" : `in ${scope.source} only`].join(", ");
}

/** Whoever sees some sources alone may neither impose nor lift such a control. */
export function isOfEverySource(scope: ControlOut["scope"]): boolean {
  return scope.source === undefined;
}

/** The warning that a scope matches more parked events than were selected; null = it does not, or a number is unknown. */
export function beyondSelected(matched: number | null, selected: number | null): string | null {
  if (matched === null || selected === null || matched <= selected) return null;
  return `This is more than the ${plural(selected, "event")} that you selected.`;
}

/** The parked events of a scope, as a filter for the list and the count. */
export function scopeFilter(scope: ControlOut["scope"]): EventFilter {
  const filter = Object.fromEntries(Object.entries(scope).map(([name, value]) => [name, [value]]));
  return { ...filter, status: [...PARKED_STATUSES] };
}

/** `in force`, or how the control ended. An expired control has ended, even if it is not marked yet. */
export function controlEnd(
  control: Pick<ControlOut, "expiresAt" | "liftedAt">,
  nowMs: number,
): "in-force" | "lifted" | "expired" {
  if (control.liftedAt !== null) return "lifted";
  if (control.expiresAt !== null && Date.parse(control.expiresAt) <= nowMs) return "expired";
  return "in-force";
}
