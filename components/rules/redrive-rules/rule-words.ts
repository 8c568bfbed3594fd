import { formatDuration, formatNumber, formatRate, plural } from "@/lib/platform/plain/format.pure";
import type { RedriveRuleOut, RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";

type Terms = Pick<
  RedriveRuleOut,
  "delayMs" | "redrivesPerEvent" | "lane" | "ratePerSecond" | "onlyIf" | "everyMs" | "limits" | "stopAtFailureRatio"
>;

/** `30 min after they were parked, at most twice each, slow lane, only if the same group succeeded since` */
export function ruleSentence({ delayMs, redrivesPerEvent, lane, ratePerSecond, onlyIf }: Terms): string {
  const times = ["once", "twice"][redrivesPerEvent - 1] ?? `${redrivesPerEvent} times`;
  return [
    delayMs === 0 ? "as soon as they are parked" : `${formatDuration(delayMs)} after they were parked`,
    `at most ${times} each`,
    `${lane} lane`,
    ...(ratePerSecond === null ? [] : [formatRate(ratePerSecond)]),
    ...(onlyIf.groupSucceeded ? ["only if the same group succeeded since"] : []),
    ...(onlyIf.breakerClosed ? ["only while the target's breaker is closed"] : []),
  ].join(", ");
}

/** `at most 500 events a run, 1,000 an hour, 10,000 a day; switches itself off above 20 % failures` */
export function limitWords({ limits, stopAtFailureRatio }: Terms): string {
  const bounds = [
    `${plural(limits.eventsPerRun, "event")} a run`,
    ...(limits.eventsPerHour === null ? [] : [`${formatNumber(limits.eventsPerHour)} an hour`]),
    ...(limits.eventsPerDay === null ? [] : [`${formatNumber(limits.eventsPerDay)} a day`]),
  ];
  return `at most ${bounds.join(", ")}; switches itself off above ${Math.round(stopAtFailureRatio * 100)}% failures`;
}

/** `Would have redriven 412 events of the last 7 days: 390 succeeded, 12 failed or bounced, 10 were never redriven.` */
export function trialSentence(trial: RedriveRuleTrial, days: number): string {
  const { checked, taken, stayed, cameBack, sent, never, bounded } = trial;
  const window = `the last ${days === 1 ? "24 hours" : `${days} days`}`;
  if (checked === 0) return `No event from ${window} matches, so the rule cannot be tested.`;
  const least = bounded ? " at least" : "";
  if (taken === 0)
    return `Would have redriven none of the ${plural(checked, "event")} from ${window} that match${bounded ? "; more were not tested" : ""}.`;
  const became = [
    [stayed, "succeeded"],
    [cameBack, "failed or bounced"],
    [sent, sent === 1 ? "was sent and is not yet confirmed" : "were sent and are not yet confirmed"],
    [
      never,
      never === 1
        ? "was never redriven, so what a redrive would have done is unknown"
        : "were never redriven, so what a redrive would have done is unknown",
    ],
  ] as const;
  const parts = became.flatMap(([count, words]) => (count === 0 ? [] : [`${formatNumber(count)} ${words}`]));
  return `Would have redriven${least} ${plural(taken, "event")} from ${window}: ${parts.join(", ")}.`;
}

/** `would have redriven 412, of which 390 succeeded and 10 were never redriven` */
export function triedWords({ taken, stayed, never }: NonNullable<RedriveRuleOut["trial"]>): string {
  if (taken === 0) return "would have redriven none";
  const unknown = never === 0 ? "" : ` and ${formatNumber(never)} ${never === 1 ? "was" : "were"} never redriven`;
  return `would have redriven ${formatNumber(taken)}, of which ${formatNumber(stayed)} succeeded${unknown}`;
}

/** What the rule would have left alone, one phrase each. */
export function leftWords({ left, waits, limited, marked }: RedriveRuleTrial): string[] {
  const parts = [
    [left, "had been redriven or processed before they were due"],
    [waits, "were not due yet, or their group has not succeeded"],
    [limited, "would have been held back by the limits"],
    [marked, "are marked by admission, and a rule never sends them"],
  ] as const;
  return parts.flatMap(([count, words]) => (count === 0 ? [] : [`${formatNumber(count)} ${words}`]));
}

export const OUTCOME_WORDS = {
  stayed: "succeeded",
  "came-back": "failed or bounced",
  sent: "sent, not yet confirmed",
  never: "never redriven",
} as const;

/** `took 81 events in 24 hours; since it is on: 78 sent, 2 deduplicated, 79 confirmed, 1 failed, 0 bounced`; null = none. */
export function workWords({
  lastDay,
  outcomes: { delivered, deduplicated, confirmed, failed, bounced },
}: RedriveRuleOut): string | null {
  if (lastDay === 0) return null;
  const facts = [
    `${formatNumber(delivered - deduplicated)} sent`,
    ...(deduplicated === 0 ? [] : [`${formatNumber(deduplicated)} deduplicated`]),
    `${formatNumber(confirmed)} confirmed`,
    `${formatNumber(failed)} failed`,
    `${formatNumber(bounced)} bounced`,
  ];
  return `${plural(lastDay, "event")} redriven in 24 hours; since it was switched on: ${facts.join(", ")}`;
}
