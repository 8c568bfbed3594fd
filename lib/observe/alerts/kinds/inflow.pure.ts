import { factorOf, type Usual, usualOf } from "@/lib/events/groups/baseline.pure";
import { formatFactor } from "@/lib/observe/alerts/alert-words.pure";
import type { ArrivalRow } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { alertKind, each, found, grouped, HYSTERESIS, ofSource, sum } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { AT_LEAST, COUNTED, WINDOW } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatDuration, formatNumber, plural } from "@/lib/platform/plain/format.pure";

/** Fires at more than `factor` times the usual number, and at least `atLeast`. */
export const INFLOW = alertKind({
  kind: "inflow",
  words: "More arrivals than usual",
  runbook: "dlq-size-growing",
  settings: {
    windowMs: WINDOW,
    factor: { input: "factor", label: "times the usual", min: 1, max: 1_000, unit: 1, initial: 3 },
    atLeast: AT_LEAST,
    ...COUNTED,
  },
  describe: (watch) =>
    `At least ${formatNumber(watch.factor)} × the usual arrivals${each(watch)} in ${formatDuration(watch.windowMs)}, and at least ${formatNumber(watch.atLeast)}`,
  facts: "arrivals",
  isOfEvents: true,
  judge: (watch, byWindow, { firing }) =>
    grouped(watch, byWindow.get(watch.windowMs) ?? []).map(({ its, named }) => {
      const value = sum(its.map(({ count }) => count));
      const usual = usualArrivals(its);
      const threshold =
        usual === null ? null : Math.max(watch.atLeast, watch.factor * usual.median, usual.median + 3 * usual.spread);
      const limit = threshold !== null && firing.has(named.key) ? threshold * (1 - HYSTERESIS) : threshold;
      const muted = sum(its.map((row) => row.muted ?? 0));
      const without = muted === 0 ? "" : `; ${plural(muted, "event")} of muted groups not counted`;
      const arrived = `${plural(value, "event")} arrived in ${formatDuration(watch.windowMs)}`;
      return {
        ...found(named, `${ofSource(named)}${arrived}${usualWords(value, usual)}${without}`),
        // Without a usual number nothing is more than usual.
        holds: limit !== null && value >= limit,
        value,
        threshold,
        usual: usual?.median ?? null,
      };
    }),
});

function usualWords(value: number, usual: Usual | null): string {
  if (usual === null) return "; the usual number is not yet certain";
  const factor = factorOf(value, usual);
  return factor === null ? ", usually none" : `, ${formatFactor(factor)} × the usual ${formatFactor(usual.median)}`;
}

/** The days of several rows, added day by day: a day that one of them knows is known. */
export function usualArrivals(rows: readonly ArrivalRow[]): Usual | null {
  const length = Math.max(0, ...rows.map(({ days }) => days.length));
  return usualOf(Array.from({ length }, (_, day) => sum(rows.map(({ days }) => days[day] ?? 0))));
}
