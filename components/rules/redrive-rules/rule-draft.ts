import type { Asked } from "@/components/ui/draft-dialog";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import type { RuleFields } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { addTerm, parseSearch, termsOf, writeTerm } from "@/lib/selection/filter/qualified-search.browser";

/** The form of a rule: texts as they are typed. An empty limit or rate is none. */
export type RuleDraft = {
  name: string;
  /** In the syntax of the search box. */
  events: string;
  delayMinutes: string;
  redrivesPerEvent: string;
  lane: "main" | "slow";
  rate: string;
  groupSucceeded: boolean;
  breakerClosed: boolean;
  everySeconds: string;
  perRun: string;
  perHour: string;
  perDay: string;
  stopAtPercent: string;
};

type RuleErrors = Partial<Record<keyof RuleDraft, string>>;

/** A draft of a stored rule; null = a new one, with the defaults of the server. */
export function ruleDraft(rule: RedriveRuleOut | null): RuleDraft {
  const text = (value: number | null) => (value === null ? "" : String(value));
  return {
    name: rule?.name ?? "",
    events:
      rule === null
        ? ""
        : termsOf(rule.filter as EventFilter)
            .map(writeTerm)
            .join(" "),
    delayMinutes: rule === null ? "30" : String(rule.delayMs / 60_000),
    redrivesPerEvent: text(rule?.redrivesPerEvent ?? 2),
    lane: rule?.lane ?? "slow",
    rate: text(rule?.ratePerSecond ?? null),
    groupSucceeded: rule?.onlyIf.groupSucceeded ?? true,
    breakerClosed: rule?.onlyIf.breakerClosed ?? true,
    everySeconds: String((rule?.everyMs ?? 60_000) / 1_000),
    perRun: text(rule?.limits.eventsPerRun ?? 500),
    perHour: text(rule === null ? 1_000 : rule.limits.eventsPerHour),
    perDay: text(rule === null ? 10_000 : rule.limits.eventsPerDay),
    stopAtPercent: String(Math.round((rule?.stopAtFailureRatio ?? 0.2) * 100)),
  };
}

/** The request of the form, or what is missing. `kept`: the window of the stored filter, which the form does not show. */
export function ruleRequest(draft: RuleDraft, reason: string, kept: EventFilter = {}): Asked<RuleFields> {
  const errors: RuleErrors = {};
  const { terms, words, unread } = parseSearch(draft.events);
  if (unread.length > 0) errors.events = `${unread.join("; ")}.`;
  else if (terms.length === 0 && words === "")
    errors.events = "Choose which events: a source, an error code, an event type, a group or a tag.";
  if (draft.name.trim() === "") errors.name = "Enter a name: it is shown on redrives of the rule.";
  const number = (field: keyof RuleDraft, scale = 1, least = 0): number => {
    const value = Number(draft[field]);
    if (String(draft[field]).trim() === "" || !Number.isFinite(value) || value < least) {
      errors[field] = least === 0 ? "Enter a number." : `Enter a number from ${least}.`;
    }
    return Math.round(value * scale);
  };
  const orNone = (field: keyof RuleDraft) => (String(draft[field]).trim() === "" ? null : number(field, 1, 1));
  const { from, to } = kept;
  const filter = terms.reduce<EventFilter>(addTerm, {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(words === "" ? {} : { q: words }),
  });
  const rule: RuleFields = {
    name: draft.name.trim(),
    filter,
    delayMs: number("delayMinutes", 60_000),
    redrivesPerEvent: number("redrivesPerEvent", 1, 1),
    lane: draft.lane,
    ratePerSecond: draft.rate.trim() === "" ? null : Number(draft.rate),
    onlyIf: { groupSucceeded: draft.groupSucceeded, breakerClosed: draft.breakerClosed },
    everyMs: number("everySeconds", 1_000, 1),
    limits: { eventsPerRun: number("perRun", 1, 1), eventsPerHour: orNone("perHour"), eventsPerDay: orNone("perDay") },
    stopAtFailureRatio: number("stopAtPercent", 1, 1) / 100,
    reason,
  };
  if (!(rule.ratePerSecond === null || (rule.ratePerSecond ?? 0) > 0))
    errors.rate = "Enter a number above 0, or leave it empty.";
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, request: rule };
}

const FIELD: Record<string, keyof RuleDraft> = {
  name: "name",
  delayMs: "delayMinutes",
  redrivesPerEvent: "redrivesPerEvent",
  ratePerSecond: "rate",
  everyMs: "everySeconds",
  "limits.eventsPerRun": "perRun",
  "limits.eventsPerHour": "perHour",
  "limits.eventsPerDay": "perDay",
  stopAtFailureRatio: "stopAtPercent",
};

export function errorsOf(fields: readonly FieldError[]): RuleErrors {
  return Object.fromEntries(
    fields.flatMap(({ field, detail }) => {
      const place = field.startsWith("filter") ? "events" : FIELD[field];
      return place === undefined
        ? []
        : [[place, field === "filter" ? detail : `${field.replace("filter.", "")} ${detail}`]];
    }),
  );
}
