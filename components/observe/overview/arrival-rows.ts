import { groupHref } from "@/components/events/groups/group-filter";
import type { Arrivals } from "@/lib/events/groups/arrivals.shapes";
import { isRise, verdictWords } from "@/lib/events/groups/group-verdict.pure";
import { formatFactor } from "@/lib/observe/alerts/alert-words.pure";
import type { TopErrors } from "@/lib/observe/stats/stats.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref, withPart } from "@/lib/selection/filter/filter-read.browser";

export type ArrivalRow = {
  key: string;
  name: string;
  count: number;
  /** `12 × usual`, `as usual`, `usually none`; empty when the history is too short. */
  against: string;
  unusual: boolean;
  tip: string;
  /** Its group, or its events, in the window of the page. */
  href: string;
};

/** The rows of "What arrived", the largest first. */
export function arrivalRows(
  stats: Extract<TopErrors, { counts: "arrived" }>,
  by: "code" | "group",
  filter: EventFilter,
): ArrivalRow[] {
  if (by === "code") {
    return stats.buckets.map((row) => ({
      ...against(row),
      key: row.errorCode,
      name: row.errorCode,
      count: row.count,
      tip: [
        row.errorCode,
        `${formatNumber(row.parked)} parked for the first time, ${formatNumber(row.bounced)} bounced${row.unstored > 0 ? `, ${formatNumber(row.unstored)} counted and not stored` : ""}`,
        usualWords(row),
      ].join("\n"),
      href: eventsHref(withPart(filter, { errorCode: [row.errorCode] })),
    }));
  }
  return stats.groups.map((row) => ({
    // As the page of groups says it.
    against: verdictWords(row),
    unusual: isRise(row.verdict),
    key: row.fingerprint,
    name: row.pattern === "" ? row.errorCode : row.pattern,
    count: row.count,
    tip: [row.errorCode, row.pattern.slice(0, 500), usualWords(row)].join("\n"),
    href: groupHref(filter, row),
  }));
}

/** How what arrived compares with what usually arrives, in the words of every page. */
function against({ count, usual, factor, trend }: Arrivals): { against: string; unusual: boolean } {
  if (count === 0) return { against: "none", unusual: false };
  if (usual === null) return { against: "", unusual: false };
  if (factor === null)
    return trend === "rising" ? { against: "usually none", unusual: true } : { against: "as usual", unusual: false };
  if (trend === "rising") return { against: `${formatFactor(factor)} × usual`, unusual: true };
  if (trend === "falling") return { against: "less than usual", unusual: false };
  return { against: "as usual", unusual: false };
}

function usualWords({ usual }: Pick<Arrivals, "usual">): string {
  if (usual === null) return "not enough history to tell what is usual";
  return `usual in the same hours: ${formatFactor(usual)}`;
}
