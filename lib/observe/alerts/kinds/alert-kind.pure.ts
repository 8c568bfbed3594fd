import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import type { FactName, FactRows, GroupFact } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Settings, Times, ValuesOf } from "@/lib/observe/alerts/kinds/settings.pure";

/** What an alert is about, beside its source. */
export type AlertSubject = {
  errorCode?: string;
  fingerprint?: string;
  target?: string;
  redriveId?: string;
};

/** The state of one thing that a rule tells apart: a source, a group of a source, a target, a redrive. */
export type Finding = {
  /** Unique within the rule. */
  key: string;
  /** null = of every source. */
  source: string | null;
  subject: AlertSubject;
  holds: boolean;
  value: number | null;
  threshold: number | null;
  usual: number | null;
  /** What is wrong, in one sentence: the same in the console, in every channel and in the terminal. */
  sentence: string;
};

/** `firing`: keys of firing alerts, which end only when their value is clearly better than the threshold. */
type Moment = { firing: ReadonlySet<string>; nowMs: number };

export type WatchOf<Name, Of> = { kind: Name } & ValuesOf<Of> & Times & { runbookUrl?: string | undefined };

/** `Watch`: a rule of this kind. */
export type Kind<Name extends string, Of extends Settings, Watch, Rows, Fact extends FactName> = {
  kind: Name;
  /** What it watches, for lists and forms. */
  words: string;
  /** The file of this project's docs that says what to do. */
  runbook: string;
  /** In the order of the form. Durations are milliseconds, shares from 0 to 1. */
  settings: Of;
  /** What a rule watches, in a sentence. */
  describe(watch: Watch): string;
  facts: Fact;
  judge(watch: Watch, rows: Rows, moment: Moment): Finding[];
  /** What its values are; absent = a number. */
  unit?: "duration" | "share";
  /** It is about parked events: its alerts show some of them. */
  isOfEvents?: true;
  lessIsWorse?: true;
  /** Why it cannot be tried against the past. Absent = it can. */
  noPast?: string;
  /** Why such a rule can never fire, by the field. `keptMs`: no event is kept longer; null = they are kept for ever. */
  neverFires?(watch: Watch, keptMs: number | null): { field: string; detail: string } | null;
  /** It watches how groups begin. `isFirst`: that they are seen for the first time. */
  group?: { isFirst: boolean; sentence(group: BegunGroup): string };
};
export type BegunGroup = Pick<GroupFact, "source" | "errorCode" | "pattern" | "arrived" | "runSinceMs" | "beforeMs">;

export function alertKind<const Name extends string, const Of extends Settings, Fact extends FactName>(
  kind: Kind<Name, Of, WatchOf<Name, Of>, FactRows[Fact], Fact>,
) {
  return kind;
}

/** Share by which a firing alert's value must beat its threshold, so that a value at the threshold does not flap. */
export const HYSTERESIS = 0.1;

/** A finding whose condition holds. */
export function found(named: Pick<Finding, "key" | "source" | "subject">, sentence: string): Finding {
  return { ...named, holds: true, value: null, threshold: null, usual: null, sentence };
}

type Scoped = { kind: string; sources?: readonly string[] | undefined };
type Counting = Scoped & { errorCodes?: readonly string[] | undefined; perSource: boolean };

/** The sources that a rule is about; null = all. */
export const sourcesOf = (watch: Scoped): readonly string[] | null => watch.sources ?? null;

export function inScope<Row extends { source: string }>(watch: Scoped, rows: readonly Row[]): Row[] {
  return rows.filter(({ source }) => watch.sources?.includes(source) ?? true);
}

/** The rows of the rule's scope, by source or all together, each part with what its alert is named by. */
export function grouped<Row extends { source: string; errorCode: string | null }>(
  watch: Counting,
  rows: readonly Row[],
): { its: Row[]; named: Pick<Finding, "key" | "source" | "subject"> }[] {
  const { errorCodes: codes, perSource } = watch;
  const counted = inScope(watch, rows).filter(({ errorCode }) =>
    codes ? errorCode !== null && codes.includes(errorCode) : true,
  );
  const only = watch.sources?.length === 1 ? watch.sources[0]! : null;
  // The one error code of the rule belongs to what its alert is about.
  const subject = codes?.length === 1 ? { errorCode: codes[0]! } : {};
  return [...Map.groupBy(counted, ({ source }) => (perSource ? source : "all"))].map(([key, its]) => ({
    its,
    named: { key, source: perSource ? key : only, subject },
  }));
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);

/** `orders: `, or nothing for every source. */
export const ofSource = ({ source }: { source: string | null }) => (source === null ? "" : `${quoted(source)}: `);
/** The end of what a rule counts by. */
export const each = ({ perSource }: { perSource: boolean }) => (perSource ? " of a source" : "");
