import { labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import type { CodeSource, Condition, RuleEffect } from "@/lib/intake/admission/admission.pure";
import type { RuleOut, Trial } from "@/lib/intake/admission/admission.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

export const FIELD_LABEL: Record<Condition["field"], string> = {
  errorCode: "error code",
  errorType: "exception type",
  errorMessage: "error message",
  eventType: "event type",
  aggregateType: "aggregate type",
  convention: "convention",
  contentType: "content type",
  header: "header",
  body: "payload at",
  payloadBytes: "payload bytes",
  attempts: "tries",
};

export const TEST_LABEL: Record<Condition["is"], string> = {
  equals: "is",
  contains: "contains",
  startsWith: "starts with",
  endsWith: "ends with",
  glob: "matches",
  present: "is present",
  above: "is above",
  below: "is below",
};

const NOT_LABEL: Record<Condition["is"], string> = {
  equals: "is not",
  contains: "does not contain",
  startsWith: "does not start with",
  endsWith: "does not end with",
  glob: "does not match",
  present: "is absent",
  above: "is not above",
  below: "is not below",
};

/** The parts of a condition: what is read, how it is tested, and the value; null = none. */
export function conditionWords(condition: Condition): { subject: string; test: string; value: string | null } {
  const place = "name" in condition ? ` ${condition.name}` : "pointer" in condition ? ` ${condition.pointer}` : "";
  const value = condition.is === "present" ? null : String(condition.value);
  const anyCase = "ignoreCase" in condition && condition.ignoreCase ? " (any case)" : "";
  return {
    subject: FIELD_LABEL[condition.field] + place,
    test: (condition.not ? NOT_LABEL : TEST_LABEL)[condition.is] + anyCase,
    value,
  };
}

function codeWords(code: CodeSource): string {
  if ("value" in code) return `error code becomes ${code.value}`;
  switch (code.from) {
    case "errorType":
      return "error code becomes the exception's name";
    case "header":
      return `error code becomes the header ${code.name}`;
    case "body":
      return `error code becomes the payload's ${code.pointer}`;
  }
}

/** What a rule does, one phrase each. */
export function effectWords({ errorCode, group, park, drop }: RuleEffect): string[] {
  return [
    ...(drop ? ["dropped and counted"] : []),
    ...(errorCode ? [codeWords(errorCode)] : []),
    ...(group ? [`grouped as “${group}”`] : []),
    ...(park === "early" ? ["parked early: the failure is permanent"] : []),
    ...(park === "confirm" ? ["a redrive needs confirmation"] : []),
  ];
}

/**
 * The stored events that look as a rule leaves them, as a filter and in words. Another rule may have had the same effect.
 * null = the rule stores nothing, or leaves nothing that a filter finds.
 */
export function effectFilter({ source, do: effect }: Pick<RuleOut, "source" | "do">): {
  filter: EventFilter;
  words: string;
} | null {
  const { errorCode, group, park } = effect ?? {};
  const code = errorCode && "value" in errorCode ? errorCode.value : null;
  if (!park && code === null) return null;
  const filter: EventFilter = {
    ...(source === null ? {} : { source: [source] }),
    ...(park ? { admission: [park] } : {}),
    ...(code === null ? {} : { errorCode: [code] }),
    ...(code === null || !group ? {} : { fingerprint: [labelledGroup(code, group).fingerprint] }),
  };
  const marked = park === "early" ? " parked early" : park === "confirm" ? " that need confirmation" : "";
  return { filter, words: `events${marked}${marked && code ? "," : ""}${code === null ? "" : ` of ${code}`}` };
}

/** `12 of the newest 200 events match: 3 would be dropped, 9 would change.` */
export function trialSentence({ checked, matched, dropped, changed, failed }: Trial): string {
  if (checked === 0) return "No event of this source is stored, so the rule cannot be tested.";
  const failures = failed > 0 ? ` It cannot be applied to ${formatNumber(failed)}.` : "";
  if (checked === 1) return `${onlyEvent(matched, dropped, changed)}${failures}`;
  const looked = `the newest ${formatNumber(checked)} events`;
  if (matched === 0) return `None of ${looked} matches.${failures}`;
  const stay = matched - changed;
  const would = [
    ...(dropped > 0 ? [`${formatNumber(dropped)} would be dropped`] : []),
    ...(changed > dropped ? [`${formatNumber(changed - dropped)} would change`] : []),
    ...(stay > 0 ? [`${formatNumber(stay)} would stay as ${stay === 1 ? "it is" : "they are"}`] : []),
  ];
  const all = matched === checked ? "All" : formatNumber(matched);
  return `${all} of ${looked} ${matched === 1 ? "matches" : "match"}: ${would.join(", ")}.${failures}`;
}

function onlyEvent(matched: number, dropped: number, changed: number): string {
  if (matched === 0) return "The only event that is stored does not match.";
  const would = dropped > 0 ? "would be dropped" : changed > 0 ? "would change" : "would stay as it is";
  return `The only event that is stored matches: it ${would}.`;
}

/** `dropped 12 in the last hour, 340 in 24 hours`; null = nothing was counted. */
export function countWords(what: "matched" | "dropped" | "failed", lastHour: number, lastDay: number): string | null {
  if (lastDay === 0) return null;
  const verb = what === "failed" ? "failed on" : what;
  return `${verb} ${formatNumber(lastHour)} in the last hour, ${plural(lastDay, "message")} in 24 hours`;
}
