import { alertKind, each, found, grouped, HYSTERESIS, ofSource, sum } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { AT_LEAST, BELOW_SHARE, COUNTED, WINDOW } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatDuration, formatShare, plural } from "@/lib/platform/plain/format.pure";

/** The share of settled redriven events that succeeded; fewer than `atLeast` outcomes say nothing. */
export const SUCCESS = alertKind({
  kind: "success",
  words: "Redriven events fail or bounce",
  runbook: "success-rate-drop",
  settings: { windowMs: WINDOW, below: BELOW_SHARE, atLeast: AT_LEAST, ...COUNTED },
  describe: (watch) =>
    `Fewer than ${formatShare(watch.below)} of at least ${plural(watch.atLeast, "redriven event")}${each(watch)} succeeded in ${formatDuration(watch.windowMs)}`,
  facts: "outcomes",
  unit: "share",
  isOfEvents: true,
  lessIsWorse: true,
  judge: (watch, byWindow, { firing }) =>
    grouped(watch, byWindow.get(watch.windowMs) ?? []).map(({ its, named }) => {
      const { below, atLeast, windowMs } = watch;
      const confirmed = sum(its.map((row) => Math.max(0, row.confirmed)));
      const settled = confirmed + sum(its.map(({ bounced, failed }) => bounced + failed));
      const value = settled === 0 ? null : confirmed / settled;
      const isFiring = firing.has(named.key);
      // The share of failures must fall by the hysteresis.
      const limit = isFiring ? 1 - (1 - below) * (1 - HYSTERESIS) : below;
      const stayed = `${formatShare(value ?? 1)} of ${plural(settled, "redriven event")} succeeded`;
      const sentence = `${ofSource(named)}${stayed} in ${formatDuration(windowMs)}, the limit is ${formatShare(below)}`;
      const holds = settled >= (isFiring ? 1 : atLeast) && value !== null && value < limit;
      return { ...found(named, sentence), holds, value, threshold: below };
    }),
});
