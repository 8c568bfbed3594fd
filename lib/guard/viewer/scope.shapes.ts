import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import type { Selection } from "@/lib/events/selection/selection.shapes";
import { type Action, assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";

declare const scoped: unique symbol;
type Scoped = { readonly [scoped]: true };

/** A filter that a viewer was applied to. The compiler to SQL takes no other, so no read and no bulk misses the viewer. */
export type ScopedFilter = EventFilter & Scoped;

/** The same of a selection. `sources` restricts events that are named otherwise; absent = no restriction. */
export type ScopedSelection = Scoped &
  ({ filter: ScopedFilter } | (Exclude<Selection, { filter: unknown }> & { sources?: string[] }));

/** What of the filter the viewer sees. Throws DomainError `forbidden` when the viewer may not view. */
export function scopeFilter(viewer: Viewer, filter: EventFilter): ScopedFilter {
  const sources = sourceScope(viewer, filter.source);
  return (sources === null ? filter : { ...filter, source: sources }) as ScopedFilter;
}

/**
 * The events of a selection that the viewer may do this to. Events of other sources are as good as absent, since the
 * viewer does not see them; a source that the filter names is refused. Throws DomainError `forbidden`.
 */
export function scopeSelection(viewer: Viewer, action: Action, selection: Selection): ScopedSelection {
  if ("filter" in selection) {
    assertMay(viewer, action, selection.filter.source);
    return { filter: scopeFilter(viewer, selection.filter) } as ScopedSelection;
  }
  assertMay(viewer, action);
  const sources = sourceScope(viewer);
  return (sources === null ? selection : { ...selection, sources }) as ScopedSelection;
}

/** The sources that a selection cannot leave; null = it may touch any. */
export function sourcesOf(selection: ScopedSelection): string[] | null {
  return ("filter" in selection ? selection.filter.source : selection.sources) ?? null;
}

/** These events of a selection, under its restriction. */
export function someOf(selection: ScopedSelection, ids: string[]): ScopedSelection {
  const sources = sourcesOf(selection);
  return (sources === null ? { ids } : { ids, sources }) as ScopedSelection;
}

/** The selection as asked, and the moment its relative times refer to. */
export type FrozenSelection = ScopedSelection & { asOfMs: number };
