import type { Action } from "@/lib/guard/viewer/viewer.pure";

/**
 * Redrive rules: a worker redrives parked events that a rule describes, without a person.
 *
 * An event belongs to the first enabled rule whose filter matches it. It is due when it has been parked (or has been back)
 * for the rule's delay and every condition holds. One run of a rule is one ordinary redrive: gate, order, controls and brake
 * decide over its events as over any other's. A rule has one redrive under way at most, and switches itself off when too
 * many of its events fail or bounce.
 */

/** A rule redrives by itself: who writes, moves or switches one may redrive, too. */
export const REDRIVE_RULE_NEEDS: readonly Action[] = ["change-redrive-rule", "redrive"];

/** The fields of a rule that say what it does; the others say how it is called, where it stands and what it did. */
export const RULE_FIELDS = [
  ...(["filter", "delayMs", "redrivesPerEvent", "lane", "ratePerSecond", "canary", "brake"] as const),
  ...(["onlyIf", "everyMs", "limits", "stopAtFailureRatio"] as const),
];
export type RuleField = (typeof RULE_FIELDS)[number];

/** What a rule does, without the rest of it. */
export function ruleTerms<Rule extends Record<RuleField, unknown>>(rule: Rule): Pick<Rule, RuleField> {
  return Object.fromEntries(RULE_FIELDS.map((field) => [field, rule[field]])) as Pick<Rule, RuleField>;
}

/** What a rule says beside the filter and the options of its redrives. Durations in milliseconds. */
export type RuleTerms = {
  /** From the parking, or from the last time it came back. */
  delayMs: number;
  /** Redrives of one event by rules, this one or another. */
  redrivesPerEvent: number;
  /** `groupSucceeded`: an event of the same group and source was confirmed after this one failed. */
  onlyIf: { groupSucceeded: boolean; breakerClosed: boolean };
  /** The time between two runs. */
  everyMs: number;
  /** null = no limit. */
  limits: { eventsPerRun: number; eventsPerHour: number | null; eventsPerDay: number | null };
  /** Above this share of failed and bounced events the rule disables itself. */
  stopAtFailureRatio: number;
};

/** What happened to a parked event. Epoch milliseconds. */
export type EventPast = {
  /** When it was parked, or came back, or its last send failed. */
  sinceMs: number;
  /** Redrives by rules that had it, without those that refused it. */
  redrives: number;
  refusals: number;
  /** The last redrive by a rule; null = none. */
  lastMs: number | null;
  /** The last confirmation of its group in its source; null = none, or not asked. */
  groupSucceededMs: number | null;
};

/** An event that this many redrives of rules refused is left to a person: each further one would refuse it again. */
export const REFUSALS_MAX = 5;
/** An event that a rule had, and that is still parked, is taken again after the delay, and not sooner than this. */
const AGAIN_MS_MIN = 60_000;

export function isDue(past: EventPast, terms: RuleTerms, nowMs: number): boolean {
  const { sinceMs, redrives, refusals, lastMs, groupSucceededMs } = past;
  if (redrives >= terms.redrivesPerEvent || refusals >= REFUSALS_MAX) return false;
  if (sinceMs + terms.delayMs > nowMs) return false;
  if (lastMs !== null && lastMs + Math.max(terms.delayMs, AGAIN_MS_MIN) > nowMs) return false;
  return !terms.onlyIf.groupSucceeded || (groupSucceededMs !== null && groupSucceededMs > sinceMs);
}

/** How many events the next run may take. `hour`, `day`: what the rule took in the last hour and 24 hours. */
export function roomOf({ limits }: RuleTerms, { hour, day }: { hour: number; day: number }): number {
  const left = [
    limits.eventsPerRun,
    ...(limits.eventsPerHour === null ? [] : [limits.eventsPerHour - hour]),
    ...(limits.eventsPerDay === null ? [] : [limits.eventsPerDay - day]),
  ];
  return Math.max(0, Math.min(...left));
}

/** The events of a rule's redrives since it was switched on, 24 hours at most. */
export type RuleOutcomes = { delivered: number; failed: number; bounced: number };

/** Outcomes below which a rule is not judged. */
const OUTCOMES_MIN = 10;

/** Why the rule must switch itself off; null = it goes on. */
export function stopReason({ delivered, failed, bounced }: RuleOutcomes, ratio: number): string | null {
  const sent = delivered + failed;
  const share = sent === 0 ? 0 : (failed + bounced) / sent;
  if (sent < OUTCOMES_MIN || share <= ratio) return null;
  const percent = (part: number) => Math.round(part * 100);
  return `${failed} failed and ${bounced} bounced of ${sent} sent (${percent(share)}%, limit ${percent(ratio)}%)`;
}

/** An event of the past, as a trial knows it. Epoch milliseconds. */
type TriedEvent = {
  parkedMs: number;
  /** Its first redrive by anyone, or its confirmation, whichever was earlier; null = it is still parked. */
  leftMs: number | null;
  /** The first confirmation of its group after it was parked; null = none. */
  groupSucceededMs: number | null;
};

/**
 * `left`: it was redriven or confirmed before it was due. `waits`: it is not due yet, or its group never succeeded.
 * `limited`: the limits had kept it back until it left, or until now.
 */
export type TriedFate = { fate: "taken"; takenMs: number } | { fate: "left" | "waits" | "limited" };

/**
 * What the rule would have done with each event, in the order given. An event counts once, at its first parking: when it
 * came back is stored by the minute and the group, not by the event. The limits are kept as the rule would keep them: the
 * event that is due first is taken first.
 */
export function tryEach(events: readonly TriedEvent[], terms: RuleTerms, nowMs: number): TriedFate[] {
  const { eventsPerRun, eventsPerHour, eventsPerDay } = terms.limits;
  const pauses = [
    { events: eventsPerRun, ms: terms.everyMs },
    ...(eventsPerHour === null ? [] : [{ events: eventsPerHour, ms: 3_600_000 }]),
    ...(eventsPerDay === null ? [] : [{ events: eventsPerDay, ms: 86_400_000 }]),
  ];
  const fates: TriedFate[] = Array.from(events, () => ({ fate: "waits" }));
  const due = events
    .map((event, index) => ({ event, index, dueMs: dueAt(event, terms) }))
    .filter(({ dueMs }) => dueMs <= nowMs)
    .sort((left, right) => left.dueMs - right.dueMs || left.index - right.index);
  const taken: number[] = [];
  for (const { event, index, dueMs } of due) {
    if (event.leftMs !== null && event.leftMs <= dueMs) {
      fates[index] = { fate: "left" };
      continue;
    }
    const free = pauses.map((pause) => (taken.at(-pause.events) ?? Number.NEGATIVE_INFINITY) + pause.ms);
    const takenMs = Math.max(dueMs, taken.at(-1) ?? 0, ...free);
    if (takenMs > nowMs || (event.leftMs !== null && takenMs >= event.leftMs)) {
      fates[index] = { fate: "limited" };
      continue;
    }
    taken.push(takenMs);
    fates[index] = { fate: "taken", takenMs };
  }
  return fates;
}

function dueAt({ parkedMs, groupSucceededMs }: TriedEvent, { delayMs, onlyIf }: RuleTerms): number {
  const dueMs = parkedMs + delayMs;
  if (!onlyIf.groupSucceeded) return dueMs;
  return groupSucceededMs === null ? Number.POSITIVE_INFINITY : Math.max(dueMs, groupSucceededMs);
}
