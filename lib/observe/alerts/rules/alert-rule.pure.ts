/**
 * What a rule of alerts watches. Each rule has one kind, its own limits, and the same three times:
 *
 * - `forMs`: its condition must hold this long before the alert fires;
 * - `clearMs`: it must not hold for this long before the alert is resolved;
 * - `repeatMs`: a firing alert that nobody acknowledged is told again after this time; null = never.
 *
 * A rule raises one alert for each thing that it tells apart: a source, a group of a source, a target, a redrive.
 */
export const ALERT_KINDS = [
  "size",
  "inflow",
  "silence",
  "age",
  "new-group",
  "group-back",
  "success",
  "breaker",
  "healing",
  "source",
  "contract",
  "storage",
  "audit",
  "redrive-still",
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** The first is the worst. */
export const SEVERITIES = ["critical", "warning", "info"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** How a source can fail to be read. `unread`: no worker reports it. */
export const SOURCE_FAULTS = ["failing", "unreachable", "unread"] as const;
export type SourceFault = (typeof SOURCE_FAULTS)[number];

/** Windows over which arrivals and outcomes are counted. Few, so that rules share their reads. */
export const WINDOWS_MS = [5, 15, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * 60_000);

type Times = { forMs: number; clearMs: number; repeatMs: number | null };
type Scope = { sources?: readonly string[] | undefined };
/** Without `perSource` the sources of the scope are one sum. */
type Counted = Scope & { errorCodes?: readonly string[] | undefined; perSource: boolean };

/** Durations are milliseconds, shares from 0 to 1. */
export type AlertCondition =
  | ({ kind: "size"; above: number } & Counted)
  /** More than `factor` times the usual number, and at least `atLeast`. */
  | ({ kind: "inflow"; windowMs: number; factor: number; atLeast: number } & Counted)
  /** Nothing, where at least `usualAtLeast` are usual. */
  | ({ kind: "silence"; windowMs: number; usualAtLeast: number } & Counted)
  /** Of the 95th percentile. */
  | ({ kind: "age"; aboveMs: number } & Counted)
  /** A group seen for the first time, until none of its events is parked, or none came for `quietMs`. */
  | ({ kind: "new-group"; atLeast: number; quietMs: number } & Omit<Counted, "perSource">)
  /** A group of which nothing came for `quietMs`, and now again. */
  | ({ kind: "group-back"; atLeast: number; quietMs: number } & Omit<Counted, "perSource">)
  /** The share of settled redriven events that stayed processed; fewer than `atLeast` outcomes say nothing. */
  | ({ kind: "success"; windowMs: number; below: number; atLeast: number } & Counted)
  | ({ kind: "breaker" } & Scope)
  | ({ kind: "healing" } & Scope)
  | ({ kind: "source"; states: readonly SourceFault[] } & Scope)
  | ({ kind: "contract" } & Scope)
  /** The share of the limit that is left. */
  | { kind: "storage"; belowShare: number }
  /** A finding of a check of the audit stands. */
  | { kind: "audit" }
  | ({ kind: "redrive-still" } & Scope);

export type AlertRuleBody = AlertCondition & Times & { runbookUrl?: string | undefined };

/** The sources that a rule is about; null = all. */
export function sourcesOf(body: AlertRuleBody): readonly string[] | null {
  return "sources" in body && body.sources ? body.sources : null;
}

/** Share by which a firing alert's value must beat its threshold, so that a value at the threshold does not flap. */
export const HYSTERESIS = 0.1;

/** The runbook of each kind in this project's docs, by file name. */
export const RUNBOOKS: Record<AlertKind, string> = {
  size: "dlq-size-growing",
  inflow: "dlq-size-growing",
  silence: "source-silent",
  age: "message-age",
  "new-group": "new-group",
  "group-back": "new-group",
  success: "success-rate-drop",
  breaker: "breaker-open",
  healing: "sends-slowed-down",
  source: "source-failing",
  contract: "contract-broken",
  storage: "disk-full",
  audit: "audit",
  "redrive-still": "redrive-waits",
};
