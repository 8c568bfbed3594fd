import { VERDICTS, type Verdict } from "@/lib/events/groups/group-verdict.pure";
import type { GroupSort } from "@/lib/events/groups/groups.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { readFilter } from "@/lib/selection/filter/filter-read.browser";

const PAGE = 50;

export type GroupOrder = { sort: GroupSort; verdict: Verdict | null };

/** The order and the verdict of an address; what it does not know is the first one. */
export function groupOrderOf(sort: string | null, verdict: string | null): GroupOrder {
  return { sort: sort === "last" ? "last" : "count", verdict: VERDICTS.find((each) => each === verdict) ?? null };
}

/** The address of the list of groups in the API. */
export function groupListPath(filter: EventFilter, { sort, verdict }: GroupOrder): string {
  const own = new URLSearchParams({ limit: String(PAGE), sort, ...(verdict === null ? {} : { verdict }) });
  return `/api/v1/groups?${own}&${toSearchParams(filter)}`;
}

/** The same for the address of a page; null = its filter has unknown names. */
export function groupListPathIn(params: URLSearchParams): string | null {
  const { filter } = readFilter(params);
  return filter === null ? null : groupListPath(filter, groupOrderOf(params.get("sort"), params.get("verdict")));
}
