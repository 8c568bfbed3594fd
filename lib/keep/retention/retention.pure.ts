import { type KeptReason, whyKept } from "@/lib/keep/removal/removal.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

const DAY_MS = 86_400_000;

export const KEPT_DAYS = { min: 7, max: 3_650, initial: 30 } as const;

/** An event that something happened to within this time stays, however old it is. A restored one stays as long. */
export const RECENT_DAYS = 7;

/** A period of its own for the events of a source, of an error code, or of both; null = of every one. */
export type RetentionRule = { source: string | null; errorCode: string | null; days: number };

/** `days`: of the events that no rule names. */
export type Retention = { days: number; rules: readonly RetentionRule[] };

type Named = { source: string; errorCode: string };

/** The days that an event is kept: by the rule of its source and code, else of its source, else of its code, else as all are. */
export function daysKept({ days, rules }: Retention, { source, errorCode }: Named): number {
  const named = (ofSource: string | null, ofCode: string | null) =>
    rules.find((rule) => rule.source === ofSource && rule.errorCode === ofCode);
  return (named(source, errorCode) ?? named(source, null) ?? named(null, errorCode))?.days ?? days;
}

/** Epoch milliseconds: events of whole UTC days are due, those that were parked before this. */
export function dueBeforeMs(nowMs: number, days: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS;
}

/** Why an event does not expire, by its state alone; null = it may. PENDING events expire too: nobody decided in all that time. */
export function whyUnexpired(event: { status: EventStatus; confirmed: boolean }): KeptReason | null {
  return event.status === "PENDING" ? null : whyKept(event);
}
