import { agePercentiles, youngestFirst } from "@/lib/observe/age-percentiles.pure";
import * as words from "@/lib/observe/alerts/alert-words.pure";
import type {
  AgeRow,
  AlertFacts,
  ArrivalRow,
  ContractFact,
  CountRow,
  GroupFact,
  OutcomeRow,
  Part,
} from "@/lib/observe/alerts/facts/alert-facts.pure";
import { type AlertRuleBody, HYSTERESIS, sourcesOf } from "@/lib/observe/alerts/rules/alert-rule.pure";
import { factorOf, usualOf } from "@/lib/observe/baseline.pure";
import { beginningOf } from "@/lib/observe/group-verdict.pure";

/** What an alert is about, beside its source. */
export type AlertSubject = {
  errorCode?: string;
  fingerprint?: string;
  target?: string;
  redriveId?: string;
};

/** One thing that a rule tells apart, judged. */
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
  /** What is wrong, in one sentence. */
  sentence: string;
};

/** `fault`: why the rule cannot be judged now. */
type Findings = { findings: Finding[] } | { fault: string };

/** The key of a rule that takes all its sources together. */
const ALL = "all";

/** `firing`: keys of firing alerts, which end only when their value is clearly better than the threshold. */
export function judge(body: AlertRuleBody, facts: AlertFacts, firing: ReadonlySet<string>): Findings {
  switch (body.kind) {
    case "size":
      return from(facts.levels, (rows) => sizes(body, rows, firing));
    case "inflow":
      return from(facts.arrivals, (rows) => inflows(body, rows.get(body.windowMs) ?? [], firing));
    case "silence":
      return from(facts.arrivals, (rows) => silences(body, rows.get(body.windowMs) ?? []));
    case "age":
      return from(facts.ages, (rows) => ages(body, rows, { firing, nowMs: facts.nowMs }));
    case "success":
      return from(facts.outcomes, (rows) => successes(body, rows.get(body.windowMs) ?? [], firing));
    case "new-group":
    case "group-back":
      return from(facts.groups, (rows) => groups(body, rows, { firing, nowMs: facts.nowMs }));
    case "breaker":
      return from(facts.targets, (rows) =>
        inScope(body, rows)
          .filter(({ breaker }) => breaker.open)
          .map((row) =>
            of({ key: row.target, source: row.source, subject: { target: row.target } }, words.breaker(row)),
          ),
      );
    case "healing":
      return from(facts.targets, (rows) =>
        inScope(body, rows)
          .filter(({ healingSteps }) => healingSteps > 0)
          .map((row) => ({
            ...of({ key: row.target, source: row.source, subject: { target: row.target } }, words.healing(row)),
            value: row.healingSteps,
          })),
      );
    case "source":
      return from(facts.sources, (rows) =>
        inScope(body, rows)
          .filter(({ fault }) => body.states.includes(fault))
          .map((row) => of({ key: row.source, source: row.source, subject: {} }, words.source(row))),
      );
    case "contract":
      return from(facts.contracts, (rows) =>
        inScope(body, rows)
          .filter(({ broken }) => broken.length > 0)
          .map((row) => ({
            ...of(contractWhere(row), words.contract(row)),
            value: row.broken.length,
          })),
      );
    case "storage":
      return from(facts.rooms, (rows) =>
        rows.map((row) => {
          const share = row.limitBytes === 0 ? 1 : row.leftBytes / row.limitBytes;
          const key = `${row.measure}:${row.limitBytes}`;
          const limit = body.belowShare * (firing.has(key) ? 1 + HYSTERESIS : 1);
          return {
            ...of({ key, source: null, subject: {} }, words.room(row)),
            holds: share < limit,
            value: share,
            threshold: body.belowShare,
          };
        }),
      );
    case "audit":
      return from(facts.audit, (rows) =>
        rows.map((row) => ({
          ...of({ key: "audit", source: null, subject: {} }, words.audit(row)),
          value: row.findings,
        })),
      );
    case "redrive-still":
      return from(facts.redrives, (rows) =>
        rows
          .filter(({ sources }) => sourcesOf(body)?.some((source) => sources.includes(source)) ?? true)
          .map((row) => {
            const source = row.sources.length === 1 ? row.sources[0]! : null;
            return of({ key: row.id, source, subject: { redriveId: row.id } }, words.redrive(row));
          }),
      );
  }
}

function from<Rows>(part: Part<Rows>, find: (rows: Rows) => Finding[]): Findings {
  if (part === null) return { fault: "what it needs was not read" };
  return "fault" in part ? part : { findings: find(part.rows) };
}

function of(named: Pick<Finding, "key" | "source" | "subject">, sentence: string): Finding {
  return { ...named, holds: true, value: null, threshold: null, usual: null, sentence };
}

function inScope<Row extends { source: string }>(body: AlertRuleBody, rows: readonly Row[]): Row[] {
  const sources = sourcesOf(body);
  return sources === null ? [...rows] : rows.filter(({ source }) => sources.includes(source));
}

type OfKind<Kind extends AlertRuleBody["kind"]> = Extract<AlertRuleBody, { kind: Kind }>;
type Counting = Extract<AlertRuleBody, { perSource: boolean }>;
type Coded = { source: string; errorCode: string | null };

/** The rows of the rule's scope, by source or all together. */
function grouped<Row extends Coded>(body: Counting, rows: readonly Row[]): Map<string, Row[]> {
  const codes = body.errorCodes;
  const counted = inScope(body, rows).filter(({ errorCode }) =>
    codes ? errorCode !== null && codes.includes(errorCode) : true,
  );
  return Map.groupBy(counted, ({ source }) => (body.perSource ? source : ALL));
}

/** The one error code of the rule belongs to what its alert is about. */
function named(body: Counting, key: string): Pick<Finding, "key" | "source" | "subject"> {
  const [errorCode, ...more] = body.errorCodes ?? [];
  const [only, ...others] = body.sources ?? [];
  const source = body.perSource ? key : others.length === 0 && only !== undefined ? only : null;
  return { key, source, subject: errorCode !== undefined && more.length === 0 ? { errorCode } : {} };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);

function sizes(body: OfKind<"size">, rows: readonly CountRow[], firing: ReadonlySet<string>): Finding[] {
  return [...grouped(body, rows)].map(([key, its]) => {
    const value = sum(its.map(({ n }) => n));
    const limit = firing.has(key) ? body.above * (1 - HYSTERESIS) : body.above;
    const finding = of(named(body, key), words.size(named(body, key).source, value, body.above));
    return { ...finding, holds: value > limit, value, threshold: body.above };
  });
}

/** The days of several rows, added day by day: a day that one of them knows is known. */
function addedDays(rows: readonly ArrivalRow[]): number[] {
  const length = Math.max(0, ...rows.map(({ days }) => days.length));
  return Array.from({ length }, (_, day) => sum(rows.map(({ days }) => days[day] ?? 0)));
}

function inflows(body: OfKind<"inflow">, rows: readonly ArrivalRow[], firing: ReadonlySet<string>): Finding[] {
  return [...grouped(body, rows)].map(([key, its]) => {
    const value = sum(its.map(({ count }) => count));
    const usual = usualOf(addedDays(its));
    const threshold =
      usual === null ? null : Math.max(body.atLeast, body.factor * usual.median, usual.median + 3 * usual.spread);
    const limit = threshold !== null && firing.has(key) ? threshold * (1 - HYSTERESIS) : threshold;
    const { windowMs } = body;
    const muted = sum(its.map((row) => row.muted ?? 0));
    const facts = { count: value, usual, factor: factorOf(value, usual), windowMs, muted };
    return {
      ...of(named(body, key), words.inflow(named(body, key).source, facts)),
      // Without a usual number nothing is more than usual.
      holds: limit !== null && value >= limit,
      value,
      threshold,
      usual: usual?.median ?? null,
    };
  });
}

function silences(body: OfKind<"silence">, rows: readonly ArrivalRow[]): Finding[] {
  return [...grouped(body, rows)].map(([key, its]) => {
    const value = sum(its.map(({ count }) => count));
    const usual = usualOf(addedDays(its))?.median ?? null;
    const sentence = words.silence(named(body, key).source, { usual: usual ?? 0, windowMs: body.windowMs });
    const holds = value === 0 && usual !== null && usual >= body.usualAtLeast;
    return { ...of(named(body, key), sentence), holds, value, threshold: 0, usual };
  });
}

type Moment = { firing: ReadonlySet<string>; nowMs: number };

function ages(body: OfKind<"age">, rows: readonly AgeRow[], { firing, nowMs }: Moment): Finding[] {
  // Each event is in a row of its code and in the row of all codes.
  const counted = rows.filter(({ errorCode }) => (errorCode === null) === !body.errorCodes);
  return [...grouped(body, counted)].map(([key, its]) => {
    const hours = [...Map.groupBy(its, ({ hourMs }) => hourMs)].map(([hourMs, of]) => ({
      hourMs,
      n: sum(of.map(({ n }) => n)),
    }));
    const [value = null] = agePercentiles(youngestFirst(hours), [0.95], nowMs);
    const limit = firing.has(key) ? body.aboveMs * (1 - HYSTERESIS) : body.aboveMs;
    const sentence = words.age(named(body, key).source, value ?? 0, body.aboveMs);
    return {
      ...of(named(body, key), sentence),
      holds: value !== null && value > limit,
      value,
      threshold: body.aboveMs,
    };
  });
}

function successes(body: OfKind<"success">, rows: readonly OutcomeRow[], firing: ReadonlySet<string>): Finding[] {
  return [...grouped(body, rows)].map(([key, its]) => {
    const confirmed = sum(its.map((row) => Math.max(0, row.confirmed)));
    const settled = confirmed + sum(its.map(({ bounced, failed }) => bounced + failed));
    const value = settled === 0 ? null : confirmed / settled;
    // The share of failures must fall by the hysteresis.
    const limit = firing.has(key) ? 1 - (1 - body.below) * (1 - HYSTERESIS) : body.below;
    const { windowMs, below } = body;
    const sentence = words.success(named(body, key).source, { share: value ?? 1, settled, windowMs, below });
    const enough = settled >= (firing.has(key) ? 1 : body.atLeast);
    return {
      ...of(named(body, key), sentence),
      holds: enough && value !== null && value < limit,
      value,
      threshold: below,
    };
  });
}

/** In this time after it began, a run of arrivals makes an alert; an evaluation that was late by less misses none. */
export const BEGAN_MS = 3_600_000;

function groups(body: OfKind<"new-group" | "group-back">, rows: readonly GroupFact[], moment: Moment): Finding[] {
  const { firing, nowMs } = moment;
  const codes = body.errorCodes;
  return inScope(body, rows)
    .filter(({ errorCode }) => codes?.includes(errorCode) ?? true)
    .flatMap((row) => {
      const key = `${row.fingerprint}@${row.source}`;
      const holds = firing.has(key)
        ? row.parked > 0 && nowMs - row.lastMs < body.quietMs
        : row.arrived >= body.atLeast && beginsNow(body, row, nowMs);
      if (!holds) return [];
      const subject = { fingerprint: row.fingerprint, errorCode: row.errorCode };
      const sentence = body.kind === "new-group" ? words.newGroup(row) : words.groupBack(row);
      return [{ ...of({ key, source: row.source, subject }, sentence), value: row.arrived, threshold: body.atLeast }];
    });
}

/** An upgrade regroups parked events within minutes; a new group is never kept from alerting for longer than this. */
const MAY_BE_KNOWN_MS = BEGAN_MS / 2;

function beginsNow({ kind, quietMs }: OfKind<"new-group" | "group-back">, row: GroupFact, nowMs: number): boolean {
  const ageMs = nowMs - row.firstSeenMs;
  if (kind === "new-group") return ageMs < BEGAN_MS && (!row.mayBeKnown || ageMs >= MAY_BE_KNOWN_MS);
  if (nowMs - row.runSinceMs >= BEGAN_MS) return false;
  return beginningOf({ sinceMs: row.runSinceMs, beforeMs: row.beforeMs }, quietMs) === "back";
}

/** A source and the target of its main lane have one name, and each its own contract: no target is named `source:` and more. */
function contractWhere({ target, source }: ContractFact) {
  return target === null
    ? { key: `source:${source}`, source, subject: {} }
    : { key: target, source, subject: { target } };
}
