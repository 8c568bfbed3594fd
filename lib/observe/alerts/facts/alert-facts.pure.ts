/** What rules are judged by. */
export type FactRows = {
  levels: CountRow[];
  /** Parked events by the hour of their first sight. `errorCode` null: all codes together. */
  ages: AgeRow[];
  /** By the length of the window, milliseconds. */
  arrivals: ReadonlyMap<number, ArrivalRow[]>;
  outcomes: ReadonlyMap<number, OutcomeRow[]>;
  groups: GroupFact[];
  targets: TargetFact[];
  sources: SourceFact[];
  contracts: ContractFact[];
  rooms: RoomFact[];
  /** The check of the audit whose finding stands; none when no finding does. */
  audit: AuditFact[];
  redrives: RedriveFact[];
};
export type FactName = keyof FactRows;

/**
 * The facts of one evaluation. All rules judge by the same, so that two of them never disagree. The alerts of the rules that need
 * a part with a `fault` stay as they are; no rule needs a part that is absent.
 */
export type AlertFacts = { nowMs: number } & {
  [Name in FactName]?: { rows: FactRows[Name] } | { fault: string };
};

/** How a source can fail to be read. `unread`: no worker reports it. */
export const SOURCE_FAULTS = ["failing", "unreachable", "unread"] as const;
export type SourceFault = (typeof SOURCE_FAULTS)[number];

/** A group of which an alert `fires` since then, or ended then: epoch milliseconds. */
export type WatchedGroup = { fingerprint: string; source: string; sinceMs: number; fires: boolean };

type OfSource = { source: string; errorCode: string };
export type CountRow = OfSource & { n: number };
export type AgeRow = { source: string; errorCode: string | null; hourMs: number; n: number };
/** `days`: arrivals in the same hours of each day before, as far as the flow is known. */
export type ArrivalRow = OfSource & {
  count: number;
  days: number[];
  /** Arrivals of muted groups, which `count` and `days` leave out; absent = none. */
  muted?: number;
};
export type OutcomeRow = OfSource & { confirmed: number; bounced: number; failed: number };

/** A group of one source that was seen lately. Times are epoch milliseconds. */
export type GroupFact = OfSource & {
  fingerprint: string;
  pattern: string;
  /** The group's, over all sources. */
  firstSeenMs: number;
  /** Of this source: the first arrival of the present run, and the last one before it; null = none is known. */
  runSinceMs: number;
  beforeMs: number | null;
  lastMs: number;
  /** Arrivals of the present run. */
  arrived: number;
  parked: number;
  /** Groups of its source and error code from earlier rules wait to be regrouped: it may be one of them. */
  mayBeKnown: boolean;
};

export type TargetFact = {
  target: string;
  source: string;
  /** `forced`: a person holds it open. */
  breaker: { open: boolean; forced: boolean };
  healingSteps: number;
};
export type SourceFact = { source: string; fault: SourceFault; detail: string };
/** `broken`: the names of the assertions of the contract that do not hold. `target` null = the contract of the source itself. */
export type ContractFact = { target: string | null; source: string; broken: string[] };
/** `first`: what is wrong with the first bad entry. */
export type AuditFact = { findings: number; first: string };
type RoomFact = { measure: string; limitBytes: number; leftBytes: number; sentence: string };
export type RedriveFact = { id: string; sources: string[]; reason: string; why: string };
