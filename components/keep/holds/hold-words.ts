import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import type { ArchiveFilter } from "@/lib/keep/archive/archive.browser";
import type { HoldOut, HoldRequest } from "@/lib/keep/holds/holds.shapes";

export const HOLD_SCOPES = ["aggregateId", "tag", "eventId", "errorCode", "source"] as const;
export type HoldScopeName = (typeof HOLD_SCOPES)[number];

export const HOLD_LABEL: Record<HoldScopeName, string> = {
  aggregateId: "aggregate",
  tag: "tag",
  eventId: "event",
  errorCode: "error code",
  source: "source",
};

type Scope = HoldOut["scope"];

/** What a hold is over, for a line: the kind, and `order-77` or `customerId=42`. */
export function holdOver(scope: Scope): { label: string; value: string } {
  if (scope.tag) return { label: HOLD_LABEL.tag, value: `${scope.tag.name}=${scope.tag.value}` };
  const name = (["eventId", "aggregateId", "errorCode", "source"] as const).find((name) => scope[name] !== undefined)!;
  return { label: HOLD_LABEL[name], value: scope[name]! };
}

/** The restrictions of a scope: `of type order, in orders only`. A hold without a source holds in all sources. */
export function holdLimits(scope: Scope): string {
  const type = scope.aggregateType === undefined ? [] : [`of type ${scope.aggregateType}`];
  if (holdOver(scope).label === HOLD_LABEL.source) return "";
  return [...type, scope.source === undefined ? "in all sources" : `in ${scope.source} only`].join(", ");
}

type Covered = Pick<HoldOut, "scope" | "from" | "to">;

/** What a hold covers in the store, as a filter for the list and the count. */
export function holdFilter({ scope: { tag, ...named }, from, to }: Covered): EventFilter {
  const names = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, [value]]));
  return {
    ...names,
    ...(tag ? { tags: { [tag.name]: [tag.value] } } : {}),
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
  };
}

/** What a hold may cover in the archive: its list knows neither tags nor a window; null = it cannot be asked. */
export function holdArchiveFilter({ eventId, aggregateId, errorCode, source, tag }: Scope): ArchiveFilter | null {
  if (tag) return null;
  return {
    ...(eventId === undefined ? {} : { eventId }),
    ...(aggregateId === undefined ? {} : { aggregateId }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(source === undefined ? {} : { source }),
  };
}

export type HoldDraft = {
  scopeName: HoldScopeName;
  value: string;
  tagName: string;
  /** Empty = any type; read only for an aggregate. */
  aggregateType: string;
  /** Empty = all sources; not read when the scope is a source. */
  source: string;
  /** Local date-times; empty = open. */
  from: string;
  to: string;
};

export type DraftErrors = Partial<Record<"value" | "tagName" | "to", string>>;

/** The request of the dialog, or the missing parts by field. The server checks again. */
export function holdRequest(
  draft: HoldDraft,
  reason: string,
): { ok: true; request: HoldRequest } | { ok: false; errors: DraftErrors } {
  const errors: DraftErrors = {};
  if (draft.value.trim() === "") errors.value = "Name what it covers.";
  if (draft.scopeName === "tag" && draft.tagName.trim() === "") errors.tagName = "Name the tag.";
  const [from, to] = [timeOf(draft.from), timeOf(draft.to)];
  if (from !== null && to !== null && to <= from) errors.to = "The end must be after the start.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, request: { scope: draftScope(draft), from, to, reason } };
}

/** The scope in the form of the API. */
function draftScope(draft: HoldDraft): HoldRequest["scope"] {
  const value = draft.value.trim();
  const source = draft.source.trim() === "" ? {} : { source: draft.source.trim() };
  switch (draft.scopeName) {
    case "source":
      return { source: value };
    case "tag":
      return { tag: { name: draft.tagName.trim(), value }, ...source };
    case "aggregateId": {
      const type = draft.aggregateType.trim() === "" ? {} : { aggregateType: draft.aggregateType.trim() };
      return { aggregateId: value, ...type, ...source };
    }
    case "eventId":
      return { eventId: value, ...source };
    case "errorCode":
      return { errorCode: value, ...source };
  }
}

/** ISO 8601 of a local date-time; null = open, or not yet typed to its end. */
function timeOf(local: string): string | null {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
