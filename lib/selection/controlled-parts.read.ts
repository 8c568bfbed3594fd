import type { Control } from "@/lib/order/controls/control.pure";
import { readBlacklistedByParkade, readControlsOfPeople } from "@/lib/order/controls/controls.read";
import type { Queryable } from "@/lib/platform/database/db";
import type { FilterStatus } from "@/lib/selection/filter/event-filter.shapes";
import { splitStatuses } from "@/lib/selection/filter/event-filter.sql";
import type { ScopedFilter } from "@/lib/selection/scope.shapes";

/**
 * No column of an event says that a control blacklists or cools it, so no index finds such events. But an index finds
 * the scope of a control: "BLACKLISTED" is the union, over the blacklists in force, of the BLACKLISTED events in the
 * scope of each.
 */
type Part = {
  filter: ScopedFilter;
  /** A condition over `e` that the filter implies, spelt so that a partial index can be used. */
  hint?: string;
  /** All events that can match are among these. */
  ids?: string[];
};

/** Maximum number of parts that are read; with more, or more events in blacklisted aggregates, all PENDING events are searched. */
const PARTS_MAX = 64;
/** The parts of a filter by BLACKLISTED or COOLING; null when the filter itself can be read. Empty: nothing can match. */
export async function controlledParts(db: Queryable, filter: ScopedFilter): Promise<Part[] | null> {
  const refined = filter.status ? splitStatuses(filter.status).refined : [];
  const asked = refined.filter((status) => status === "BLACKLISTED" || status === "COOLING");
  if (asked.length === 0) return null;
  // A filter by id, aggregate or trace reads only a few events anyway.
  if (filter.eventId || filter.aggregateId || filter.traceId) return null;
  const parts: Part[] = [];
  const others = filter.status!.filter((status) => !(asked as FilterStatus[]).includes(status));
  if (others.length > 0) parts.push({ filter: { ...filter, status: others } });
  const controls = await readControlsOfPeople(db);
  for (const status of asked) {
    const kind = status === "BLACKLISTED" ? "blacklist" : "cooldown";
    const own = { ...filter, status: [status] };
    for (const control of controls.filter((one) => one.kind === kind)) {
      const caught = caughtBy(own, control);
      if (caught) parts.push({ filter: caught });
    }
    if (status === "COOLING") parts.push({ filter: own, hint: "e.cooldown_until is not null" });
    else {
      const ids = await readBlacklistedByParkade(db);
      if (ids === null) return null;
      if (ids.length > 0) parts.push({ filter: own, ids });
    }
  }
  return parts.length > PARTS_MAX ? null : parts;
}

/** The part of the filter within a control's scope; null = no part. */
function caughtBy(filter: ScopedFilter, { scope, value, source }: Control): ScopedFilter | null {
  const named = narrowed(filter, scope, value);
  return named === null || source === null ? named : narrowed(named, "source", source);
}

function narrowed(filter: ScopedFilter, name: Control["scope"], value: string): ScopedFilter | null {
  const list = filter[name];
  return list && !list.includes(value) ? null : { ...filter, [name]: [value] };
}
