import { agePercentiles, youngestFirst } from "@/lib/observe/age-percentiles.pure";
import { alertKind, each, found, grouped, HYSTERESIS, ofSource, sum } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { COUNTED, hours } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatDuration } from "@/lib/platform/plain/format.pure";

/** Of the 95th percentile. */
export const AGE = alertKind({
  kind: "age",
  words: "Age of parked events above a limit",
  runbook: "message-age",
  settings: { aboveMs: hours({ label: "older than (hours)", min: 60_000, initial: 86_400_000 }), ...COUNTED },
  describe: (watch) => `One parked event${each(watch)} in twenty older than ${formatDuration(watch.aboveMs)}`,
  facts: "ages",
  unit: "duration",
  isOfEvents: true,
  neverFires({ aboveMs }, keptMs) {
    if (keptMs === null || aboveMs < keptMs) return null;
    const detail = `no event is older than ${formatDuration(keptMs)}, see retention: use less, or the rule can never fire`;
    return { field: "aboveMs", detail };
  },
  judge(watch, rows, { firing, nowMs }) {
    // Each event is in a row of its code and in the row of all codes.
    const counted = rows.filter(({ errorCode }) => (errorCode === null) === !watch.errorCodes);
    return grouped(watch, counted).map(({ its, named }) => {
      const byHour = [...Map.groupBy(its, ({ hourMs }) => hourMs)].map(([hourMs, of]) => ({
        hourMs,
        n: sum(of.map(({ n }) => n)),
      }));
      const [value = null] = agePercentiles(youngestFirst(byHour), [0.95], nowMs);
      const limit = firing.has(named.key) ? watch.aboveMs * (1 - HYSTERESIS) : watch.aboveMs;
      const older = `one parked event in twenty is older than ${formatDuration(value ?? 0)}`;
      const sentence = `${ofSource(named)}${older}, the limit is ${formatDuration(watch.aboveMs)}`;
      const holds = value !== null && value > limit;
      return { ...found(named, sentence), holds, value, threshold: watch.aboveMs };
    });
  },
});
