import { alertKind, each, found, grouped, HYSTERESIS, ofSource, sum } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { COUNTED, count } from "@/lib/observe/alerts/kinds/settings.pure";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";

export const SIZE = alertKind({
  kind: "size",
  words: "Parked events above a number",
  runbook: "dlq-size-growing",
  settings: { above: count({ label: "more than (events)", min: 0, initial: 1_000 }), ...COUNTED },
  describe: (watch) => `More than ${plural(watch.above, "event")}${each(watch)} parked`,
  facts: "levels",
  isOfEvents: true,
  judge: (watch, rows, { firing }) =>
    grouped(watch, rows).map(({ its, named }) => {
      const value = sum(its.map(({ n }) => n));
      const limit = firing.has(named.key) ? watch.above * (1 - HYSTERESIS) : watch.above;
      const parked = plural(value, "event is", "events are");
      const sentence = `${ofSource(named)}${parked} parked, the limit is ${formatNumber(watch.above)}`;
      return { ...found(named, sentence), holds: value > limit, value, threshold: watch.above };
    }),
});
