import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import type { Selection } from "@/lib/events/selection/selection.shapes";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { type ScopedFilter, type ScopedSelection, scopeFilter, scopeSelection } from "@/lib/guard/viewer/scope.shapes";
import { type Action, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";

/** `scopeFilter` by the mask rules in force. Throws DomainError `forbidden`. */
export async function readScopedFilter(db: Queryable, viewer: Viewer, filter: EventFilter): Promise<ScopedFilter> {
  return scopeFilter(viewer, filter, await masksOfSearch(db, viewer, filter));
}

/** `scopeSelection` by the mask rules in force. Throws DomainError `forbidden`. */
export async function readScopedSelection(
  db: Queryable,
  viewer: Viewer,
  action: Action,
  selection: Selection,
): Promise<ScopedSelection> {
  const filter = "filter" in selection ? selection.filter : {};
  return scopeSelection(viewer, action, selection, await masksOfSearch(db, viewer, filter));
}

/** Read for a search by tags of somebody who may not reveal alone: no other is judged by them. */
async function masksOfSearch(db: Queryable, viewer: Viewer, { tags }: EventFilter): Promise<Masks | undefined> {
  return tags === undefined || may(viewer, "reveal") ? undefined : readMasks(db);
}
