import { formatFactor } from "@/lib/observe/alerts/alert-words.pure";
import { alertKind, each, found, grouped, ofSource, sum } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { usualArrivals } from "@/lib/observe/alerts/kinds/inflow.pure";
import { COUNTED, count, WINDOW } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatDuration, formatNumber } from "@/lib/platform/plain/format.pure";

export const SILENCE = alertKind({
  kind: "silence",
  words: "No arrivals where some are expected",
  runbook: "source-silent",
  settings: {
    windowMs: WINDOW,
    usualAtLeast: count({ label: "usually at least (events)", min: 1, initial: 20 }),
    ...COUNTED,
  },
  describe: (watch) =>
    `No arrivals${each(watch)} in ${formatDuration(watch.windowMs)}, where ${formatNumber(watch.usualAtLeast)} are expected`,
  facts: "arrivals",
  lessIsWorse: true,
  judge: (watch, byWindow) =>
    grouped(watch, byWindow.get(watch.windowMs) ?? []).map(({ its, named }) => {
      const value = sum(its.map(({ count: arrived }) => arrived));
      const usual = usualArrivals(its)?.median ?? null;
      const where = `where ${formatFactor(usual ?? 0)} are expected`;
      const sentence = `${ofSource(named)}nothing arrived in ${formatDuration(watch.windowMs)}, ${where}`;
      const holds = value === 0 && usual !== null && usual >= watch.usualAtLeast;
      return { ...found(named, sentence), holds, value, threshold: 0, usual };
    }),
});
