import {
  type Assertion,
  type ContractReport,
  capacityOf,
  judged,
  LOAD,
  msText,
  OPERATIONS_MIN,
  ratio,
  reportOf,
  rho,
  rounded,
  unknown,
} from "@/lib/sources/contracts/assertion.pure";

/** What a target promises and what its callers expect. Each number is optional: null = nothing is promised. */
export type Contract = {
  semantics: "at-most-once" | "at-least-once" | "effectively-once" | null;
  /** How long the target remembers a key. */
  dedupWindowMs: number | null;
  /** The longest time between two arrivals of one event, or by which a later event may overtake it. */
  reorderingSpanMs: number | null;
  promisedLatencyMs: number | null;
  callerDeadlineMs: number | null;
  /** Kept free before the callers' deadline. null = the margin of the policy. */
  marginMs: number | null;
  /** Share of operations that succeed, in (0, 1). */
  promisedSuccess: number | null;
  expectedPerSecond: number | null;
  /** Repeats per operation. */
  budgetRatio: number;
  /** Timeouts per operation. */
  timeoutRatio: number;
  /** Share of the capacity that may be in use. */
  loadMax: number;
  criticality: "critical" | "normal" | "background";
};

/**
 * Timeouts by document 001 (control plane, 0.5 %). Retries as the default policy allows: a target with that policy keeps
 * its contract. The load leaves room for the loss of a worker.
 */
export const CONTRACT_DEFAULTS: Contract = {
  semantics: null,
  dedupWindowMs: null,
  reorderingSpanMs: null,
  promisedLatencyMs: null,
  callerDeadlineMs: null,
  marginMs: null,
  promisedSuccess: null,
  expectedPerSecond: null,
  budgetRatio: 0.1,
  timeoutRatio: 0.005,
  loadMax: 0.7,
  criticality: "normal",
};

/** The part of a policy and a target that a contract is held against. `worstMs` is W: all attempts and their longest delays. */
export type ContractTerms = {
  maxAttempts: number;
  attemptTimeoutMs: number;
  worstMs: number;
  deadlineMs: number;
  marginMs: number;
  retryable: boolean;
  ratePerSecond: number | null;
};

export function contractTerms(
  policy: Pick<ContractTerms, "maxAttempts" | "attemptTimeoutMs" | "deadlineMs" | "marginMs">,
  worstMs: number,
  { retryable, ratePerSecond }: Pick<ContractTerms, "retryable" | "ratePerSecond">,
): ContractTerms {
  const { maxAttempts, attemptTimeoutMs, deadlineMs, marginMs } = policy;
  return { maxAttempts, attemptTimeoutMs, worstMs, deadlineMs, marginMs, retryable, ratePerSecond };
}

type EngineReport = {
  bulkhead: { permits: number };
  latency: { p95Ms: number | null; p99Ms: number | null };
  waits?: { p99Ms: number | null } | undefined;
  counters: Readonly<Record<string, number>>;
};

/** Attempts of the last minutes that followed an earlier attempt of their event in the same redrive. */
export type RepeatFacts = {
  repeats: number;
  /** Of these, those whose key differs from one before. */
  otherKeys: number;
  /** The longest time from an attempt that may have arrived to a repeat of it, ms; null = there was none. */
  againMs: number | null;
};

export const NO_REPEATS: RepeatFacts = { repeats: 0, otherKeys: 0, againMs: null };

/** Counts are added over the workers; of quantiles the slower worker's is taken, as a caller may meet either. null = no worker reports. */
export function contractFacts(
  engines: readonly EngineReport[],
  sentPerSecond: number,
  repeated: RepeatFacts,
): ContractFacts | null {
  if (engines.length === 0) return null;
  const sum = (of: (engine: EngineReport) => number) => engines.reduce((total, engine) => total + of(engine), 0);
  const most = (of: (engine: EngineReport) => number | null | undefined) => {
    const known = engines.map(of).filter((value) => value !== null && value !== undefined);
    return known.length === 0 ? null : Math.max(...known);
  };
  const count = (name: string) => sum(({ counters }) => counters[name] ?? 0);
  return {
    operations: count("operations"),
    attempts: count("attempts"),
    succeeded: count("succeeded"),
    retries: count("retries"),
    timeouts: count("timeouts"),
    waitP99Ms: most(({ waits }) => waits?.p99Ms),
    latencyP95Ms: most(({ latency }) => latency.p95Ms),
    latencyP99Ms: most(({ latency }) => latency.p99Ms),
    permits: sum(({ bulkhead }) => bulkhead.permits),
    sentPerSecond,
    repeated,
  };
}

/** What the live workers have counted since they started, over all of them. null = nothing was measured. */
export type ContractFacts = {
  operations: number;
  attempts: number;
  /** Attempts that succeeded. */
  succeeded: number;
  retries: number;
  timeouts: number;
  waitP99Ms: number | null;
  latencyP95Ms: number | null;
  latencyP99Ms: number | null;
  permits: number;
  sentPerSecond: number;
  repeated: RepeatFacts;
};

type ContractInput = { contract: Contract; terms: ContractTerms; facts: ContractFacts | null };

/** Checks a contract against the policy, the target and what was measured. In the order in which a policy is designed. */
export function contractReport(input: ContractInput): ContractReport {
  const assertions = [
    semantics(input),
    dedupWindow(input),
    keyStability(input),
    noSideEffectDup(input),
    latency(input),
    queueing(input),
    deadline(input),
    criticalPath(input),
    success(input),
    ratio("retry-ratio", "retries / operations <= budgetRatio", input.facts, "retries", input.contract.budgetRatio),
    ratio(
      "timeout-ratio",
      "timeouts / operations <= timeoutRatio",
      input.facts,
      "timeouts",
      input.contract.timeoutRatio,
    ),
    load(input),
  ].filter((assertion) => assertion !== null);
  return reportOf(assertions);
}

const MATRIX = "at-most-once: not repeated; at-least-once: repeated; effectively-once: repeated, within a dedup window";

function semantics({ contract, terms }: ContractInput): Assertion {
  const { semantics: wanted, dedupWindowMs } = contract;
  const repeats = terms.retryable && terms.maxAttempts > 1;
  const numbers = `semantics ${wanted ?? "not set"}, ${repeats ? "repeated" : "not repeated"}, dedup window ${msText(dedupWindowMs)}`;
  if (wanted === null) return unknown("semantics", MATRIX, numbers, "no semantics is set");
  // Parkade sends the same key with each repeat; only a target with a window makes one effect of them.
  const holds = {
    "at-most-once": !repeats,
    "at-least-once": repeats,
    "effectively-once": repeats && dedupWindowMs !== null,
  };
  return judged("semantics", MATRIX, numbers, holds[wanted]);
}

function dedupWindow({ contract, terms }: ContractInput): Assertion {
  const { dedupWindowMs, reorderingSpanMs } = contract;
  const formula = "dedupWindow >= max(W, reorderingSpan)";
  const numbers = `${msText(dedupWindowMs)} >= max(${msText(terms.worstMs)}, ${msText(reorderingSpanMs)})`;
  if (dedupWindowMs === null) return unknown("dedup-window", formula, numbers, "no dedupWindowMs is set");
  return judged("dedup-window", formula, numbers, dedupWindowMs >= Math.max(terms.worstMs, reorderingSpanMs ?? 0));
}

const NO_REPEAT = "no repeat was counted in the last ten minutes";

/** Document 001: idempotency.key_stability. */
function keyStability({ facts }: ContractInput): Assertion {
  const formula = "all attempts of an event have one key";
  const { repeats, otherKeys } = facts?.repeated ?? NO_REPEATS;
  if (repeats === 0) return unknown("key-stability", formula, "? = 0", NO_REPEAT);
  return judged("key-stability", formula, `other keys in ${otherKeys} of ${repeats} repeats = 0`, otherKeys === 0);
}

/** Document 001: semantics.no_side_effect_dup. With at-least-once a second effect is agreed. */
function noSideEffectDup({ contract, facts }: ContractInput): Assertion | null {
  const { semantics: wanted, dedupWindowMs } = contract;
  if (wanted !== "at-most-once" && wanted !== "effectively-once") return null;
  const formula =
    wanted === "at-most-once"
      ? "nothing that may have arrived is resent"
      : "what may have arrived is resent only within the dedup window, under its key";
  const { repeats, otherKeys, againMs } = facts?.repeated ?? NO_REPEATS;
  const withinMs = wanted === "at-most-once" ? 0 : (dedupWindowMs ?? 0);
  const numbers = `sent again after ${againMs === null ? "none" : msText(againMs)} <= ${msText(withinMs)}, other keys ${otherKeys}`;
  if (repeats === 0) return unknown("no-side-effect-dup", formula, numbers, NO_REPEAT);
  return judged("no-side-effect-dup", formula, numbers, againMs === null || (againMs <= withinMs && otherKeys === 0));
}

function latency({ contract, facts }: ContractInput): Assertion {
  const formula = "latency p99 <= promisedLatency";
  const measuredMs = facts?.latencyP99Ms ?? null;
  const numbers = `${msText(measuredMs)} <= ${msText(contract.promisedLatencyMs)}`;
  if (contract.promisedLatencyMs === null) return unknown("latency", formula, numbers, "no promisedLatencyMs is set");
  if (measuredMs === null) return unknown("latency", formula, numbers, "no latency was measured");
  return judged("latency", formula, numbers, measuredMs <= contract.promisedLatencyMs);
}

/** The wait in the target's own queue and the network are part of the time of a send, as it is measured from here. */
function queueing({ contract, terms, facts }: ContractInput): Assertion {
  const formula = "Wq_in p99 + (w + Wq_out + Wnet) p99 <= attempt timeout";
  const [waitMs, sendMs] = [facts?.waitP99Ms ?? null, facts?.latencyP99Ms ?? null];
  const numbers = `${msText(waitMs)} + ${msText(sendMs)} <= ${msText(terms.attemptTimeoutMs)}`;
  // The wait for the pace of a redrive is wanted where no caller waits.
  if (contract.callerDeadlineMs === null) return unknown("queueing", formula, numbers, "no callerDeadlineMs is set");
  if (waitMs === null || sendMs === null) return unknown("queueing", formula, numbers, "no wait was measured");
  return judged("queueing", formula, numbers, waitMs + sendMs <= terms.attemptTimeoutMs);
}

function deadline({ contract, terms }: ContractInput): Assertion {
  const limitMs = contract.callerDeadlineMs ?? terms.deadlineMs;
  const marginMs = contract.marginMs ?? terms.marginMs;
  const formula = "W = attempts x timeout + sum of the longest delays <= deadline - margin";
  const delaysMs = terms.worstMs - terms.maxAttempts * terms.attemptTimeoutMs;
  const w = `${terms.maxAttempts} x ${msText(terms.attemptTimeoutMs)} + ${msText(delaysMs)} = ${msText(terms.worstMs)}`;
  return judged(
    "deadline",
    formula,
    `${w} <= ${msText(limitMs)} - ${msText(marginMs)}`,
    terms.worstMs <= limitMs - marginMs,
  );
}

/** Of a critical path alone: its own deadline ends before that of its callers. */
function criticalPath({ contract, terms }: ContractInput): Assertion | null {
  if (contract.criticality !== "critical") return null;
  const formula = "deadline < callerDeadline";
  const numbers = `${msText(terms.deadlineMs)} < ${msText(contract.callerDeadlineMs)}`;
  if (contract.callerDeadlineMs === null)
    return unknown("critical-path", formula, numbers, "no callerDeadlineMs is set");
  return judged("critical-path", formula, numbers, terms.deadlineMs < contract.callerDeadlineMs);
}

/** Assumes that failures are independent. In an outage they are not: then it is too high. */
function success({ contract, terms, facts }: ContractInput): Assertion {
  const formula = "p_ok = 1 - p^n >= promisedSuccess";
  const promised = contract.promisedSuccess;
  if (promised === null) return unknown("success", formula, "not set", "no promisedSuccess is set");
  if (facts === null || facts.attempts < OPERATIONS_MIN) {
    return unknown("success", formula, `? >= ${promised}`, `fewer than ${OPERATIONS_MIN} attempts were counted`);
  }
  const p = 1 - facts.succeeded / facts.attempts;
  const attempts = terms.retryable ? terms.maxAttempts : 1;
  const ok = 1 - p ** attempts;
  return judged("success", formula, `1 - ${rounded(p)}^${attempts} = ${rounded(ok)} >= ${promised}`, ok >= promised);
}

function load({ contract, terms, facts }: ContractInput): Assertion {
  const arrivals = contract.expectedPerSecond ?? facts?.sentPerSecond ?? null;
  if (arrivals === null)
    return unknown("load", LOAD, `? <= ${contract.loadMax}`, "no expectedPerSecond is set, and no sends were counted");
  return rho(arrivals, capacityOf(terms.ratePerSecond, facts), contract.loadMax);
}
