import { riseRank, type Verdict } from "@/lib/observe/group-verdict.pure";

/** The columns by which the groups are ordered, and the direction in which each begins. */
export const GROUP_SORTS = ["rise", "count", "code", "source", "since", "last"] as const;
export type GroupSort = (typeof GROUP_SORTS)[number];
export type SortOrder = "asc" | "desc";

export function firstOrder(sort: GroupSort): SortOrder {
  return sort === "code" || sort === "source" ? "asc" : "desc";
}

/** What the order of a group is decided by. */
export type OrderedGroup = {
  fingerprint: string;
  errorCode: string;
  source: string;
  verdict: Verdict;
  /** Arrivals in the window. */
  count: number;
  usual: number | null;
  parked: number;
  sinceMs: number;
  lastMs: number;
};

/** The place of a group in the order: keys from the most to the least significant. The fingerprint makes it unique. */
export type SortKey = readonly (number | string)[];

export function sortKey(group: OrderedGroup, sort: GroupSort): SortKey {
  switch (sort) {
    case "rise": {
      const { tier, value } = riseRank(group);
      return [tier, value, group.parked, group.fingerprint];
    }
    case "count":
      return [group.parked, group.fingerprint];
    case "code":
      return [group.errorCode, group.parked, group.fingerprint];
    case "source":
      return [group.source, group.parked, group.fingerprint];
    case "since":
      return [group.sinceMs, group.fingerprint];
    case "last":
      return [group.lastMs, group.fingerprint];
  }
}

/** Below zero: `left` comes first. */
export function compareKeys(left: SortKey, right: SortKey, order: SortOrder): number {
  for (const [at, one] of left.entries()) {
    const other = right[at]!;
    if (one === other) continue;
    const less = one < other ? -1 : 1;
    return order === "asc" ? less : -less;
  }
  return 0;
}
