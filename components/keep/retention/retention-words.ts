import { leftAlone } from "@/components/events/bulk/bulk-words";
import { KEPT_DAYS } from "@/lib/keep/retention/retention.pure";
import type { RetentionChange, RetentionPreview } from "@/lib/keep/retention/retention.shapes";
import { formatBytes, plural } from "@/lib/platform/plain/format.pure";

/** A period as it is typed. Empty text stands for every source or code. */
export type TypedRule = { source: string; errorCode: string; days: string };

/** null = it is no number of days. */
export function daysOf(typed: string): number | null {
  const days = Number(typed);
  return /^\d+$/.test(typed.trim()) && days >= KEPT_DAYS.min && days <= KEPT_DAYS.max ? days : null;
}

export const DAYS_WORDS = `A whole number, ${KEPT_DAYS.min} to ${KEPT_DAYS.max}.`;

/** What is wrong with the rule at this place; null = nothing. */
export function ruleFault(rules: readonly TypedRule[], at: number): { field: keyof TypedRule; words: string } | null {
  const rule = rules[at]!;
  if (rule.source === "" && rule.errorCode.trim() === "")
    return { field: "source", words: "Choose a source, type an error code, or both." };
  const same = rules.findIndex(
    (other) => other.source === rule.source && other.errorCode.trim() === rule.errorCode.trim(),
  );
  if (same < at) return { field: "source", words: "Already listed above." };
  return daysOf(rule.days) === null ? { field: "days", words: DAYS_WORDS } : null;
}

/** null = something typed is wrong. */
export function changeOf(days: string, rules: readonly TypedRule[]): Pick<RetentionChange, "days" | "rules"> | null {
  const kept = daysOf(days);
  if (kept === null || rules.some((_, at) => ruleFault(rules, at) !== null)) return null;
  return {
    days: kept,
    rules: rules.map((rule) => ({
      source: rule.source || null,
      errorCode: rule.errorCode.trim() || null,
      days: daysOf(rule.days)!,
    })),
  };
}

/** `12,300 events of 3 days expire, 6.0 MB of payloads` */
export function dueText(days: NonNullable<RetentionPreview["days"]>): string {
  const going = days.filter(({ expires }) => expires > 0);
  const events = going.reduce((sum, { expires }) => sum + expires, 0);
  const bytes = going.reduce((sum, day) => sum + day.bytes, 0);
  if (events === 0) return "Nothing expires now";
  const expire = events === 1 ? "expires" : "expire";
  return `${plural(events, "event")} parked on ${plural(going.length, "day")} ${expire}, ${formatBytes(bytes)} of payloads`;
}

/** The label of the button, with the number of events that the change expires. null = not counted. */
export function saveWords(days: RetentionPreview["days"] | undefined): string {
  const events = (days ?? []).reduce((sum, { expires }) => sum + expires, 0);
  return events === 0 ? "Save" : `Save: ${plural(events, "event")} ${events === 1 ? "expires" : "expire"}`;
}

/** Why events of a day stay; empty = none does. */
export function keptText(keptByReason: Record<string, number>): string {
  return leftAlone(keptByReason);
}
