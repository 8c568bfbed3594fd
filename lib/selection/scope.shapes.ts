import { maskValue } from "@/lib/guard/masking/mask.pure";
import type { MaskSet, Masks } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { type Action, assertMay, may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";

declare const scoped: unique symbol;
type Scoped = { readonly [scoped]: true };

/** A filter that a viewer was applied to. The compiler to SQL takes no other, so no read and no bulk misses the viewer. */
export type ScopedFilter = EventFilter & Scoped;

/**
 * The same of a selection. `sources` restricts events that are not named by a filter; absent = no restriction. `asked`: the filter as
 * typed by a user whose words were looked up in masked texts, see `scope.read.ts`; `filter` then has the matching groups.
 */
export type ScopedSelection = Scoped &
  ({ filter: ScopedFilter; asked?: EventFilter } | (Exclude<Selection, { filter: unknown }> & { sources?: string[] }));

/**
 * What of the filter the viewer sees. `masks`: the rules in force, see `scope.read.ts`; without them who may not reveal searches by no tag.
 * Throws DomainError `forbidden` when the viewer may not view, or search so.
 */
export function scopeFilter(viewer: Viewer, filter: EventFilter, masks?: Masks): ScopedFilter {
  const sources = sourceScope(viewer, filter.source);
  assertSearches(viewer, filter, masks && (sources ?? [null]).map((source) => masks.of(source)));
  return (sources === null ? filter : { ...filter, source: sources }) as ScopedFilter;
}

/**
 * A search answers whether what is stored holds a word, masked or not: of somebody who may not reveal that would spell out a value
 * letter by letter. `scope.read.ts` looks their words up in masked texts before. Throws DomainError `forbidden`.
 */
function assertSearches(viewer: Viewer, filter: EventFilter, sets: MaskSet[] | undefined): void {
  if (may(viewer, "reveal")) return;
  // A tag can be searched for if the list shows it unmasked in every searched source. A mask comes from a view.
  const isMasked = ([name, values]: [string, string[]]) =>
    sets === undefined ||
    values.some((value) => value.includes(REDACTED) || sets.some((set) => maskValue(name, value, set) !== value));
  const masked = (["tags", "not.tags"] as const).find((name) => Object.entries(filter[name] ?? {}).some(isMasked));
  const field = filter.q !== undefined ? "q" : (masked ?? null);
  if (field === null) return;
  const said = field === "q" ? "search the texts of errors here" : "search by a tag whose values are masked";
  throw new DomainError("forbidden", `${viewer.name} may not ${said}`, {
    fields: [
      { field: "action", detail: "reveal" },
      { field, detail: "needs the right to reveal" },
    ],
  });
}

/**
 * The events of a selection that the viewer may do this to. Events of other sources are as good as absent, since the
 * viewer does not see them; a source that the filter names is refused. Throws DomainError `forbidden`.
 */
export function scopeSelection(viewer: Viewer, action: Action, selection: Selection, masks?: Masks): ScopedSelection {
  if ("filter" in selection) {
    assertMay(viewer, action, selection.filter.source);
    return { filter: scopeFilter(viewer, selection.filter, masks) } as ScopedSelection;
  }
  assertMay(viewer, action);
  const sources = sourceScope(viewer);
  return (sources === null ? selection : { ...selection, sources }) as ScopedSelection;
}

/** The sources that a selection cannot leave; null = it may touch any. */
export function sourcesOf(selection: ScopedSelection): string[] | null {
  return ("filter" in selection ? selection.filter.source : selection.sources) ?? null;
}

/** The selection that a worker walks, and the moment its relative times refer to. */
export type FrozenSelection = ScopedSelection & { asOfMs: number };

/** The selection as typed: it is shown, and stored once nothing walks the selection any more. */
export function askedSelection(selection: ScopedSelection): ScopedSelection {
  if (!("filter" in selection) || selection.asked === undefined) return selection;
  const { asked, ...rest } = selection;
  return { ...rest, filter: asked as ScopedFilter };
}
