import {
  type Assertion,
  type ContractReport,
  capacityOf,
  judged,
  LOAD,
  msText,
  ratio,
  reportOf,
  rho,
  rounded,
  share,
  unknown,
} from "@/lib/sources/contracts/assertion.pure";
import type { CallPath } from "@/lib/sources/contracts/call-paths.pure";
import { CONTRACT_DEFAULTS, type Contract } from "@/lib/sources/contracts/contract.pure";

/** What is promised of the dead letters of a source, and what its callers expect. Each number is optional: null = nothing is promised. */
export type SourceContract = Pick<Contract, "criticality" | "budgetRatio" | "loadMax"> & {
  /** How soon a parked event must be resolved. */
  promisedLatencyMs: number | null;
  /** How long the callers that are not named wait for one event of the source. */
  callerDeadlineMs: number | null;
  /** Kept free before the deadline of the callers. null = the margin of the policy of the main lane. */
  marginMs: number | null;
  /** Dead letters that are expected. */
  expectedPerSecond: number | null;
  /** How long the consumers of the source remember a key. */
  dedupWindowMs: number | null;
  /** The longest time between two arrivals of one event, or by which a later event may overtake it. null = as measured. */
  reorderingSpanMs: number | null;
  /** Share of the arrivals that are dropped as duplicates. */
  duplicateRatio: number;
  /** Names of the sources and targets whose work waits for the work of this source. */
  callers: string[];
};

/** Callers of one source: more than a person checks. */
export const CALLERS_MAX = 50;

export const SOURCE_CONTRACT_DEFAULTS: SourceContract = {
  promisedLatencyMs: null,
  callerDeadlineMs: null,
  marginMs: null,
  expectedPerSecond: null,
  dedupWindowMs: null,
  reorderingSpanMs: null,
  callers: [],
  // From document 001, data plane.
  duplicateRatio: 0.01,
  budgetRatio: CONTRACT_DEFAULTS.budgetRatio,
  loadMax: CONTRACT_DEFAULTS.loadMax,
  criticality: CONTRACT_DEFAULTS.criticality,
};

export type SourceContractInput = {
  contract: SourceContract;
  /** null = an event is known for good. */
  knownDays: number | null;
  /** Of the main lane; null = unlimited. */
  ratePerSecond: number | null;
  deadlineMs: number;
  marginMs: number;
  parked: number;
  /** The oldest parked event is at least so old. null = nothing is parked. */
  oldestMsMin: number | null;
  /** Over the last hour. null = unknown. */
  arrivalsPerSecond: number | null;
  /** Over the last hour: all arrivals, and those already known. */
  arrivals: { all: number; duplicates: number };
  /** The longest span among the newest events. null = no event says anything of it. */
  spanMs: number | null;
  /** What the live workers have counted over all targets of the source. null = nothing was measured. */
  sent: { operations: number; retries: number; timeouts: number } | null;
  /** Of the main lane. null = nothing was measured. */
  engine: { permits: number; latencyP95Ms: number | null } | null;
  /** From each caller down to the source, at any distance; see `callPaths`. */
  paths: CallPath[];
};

const DAY_MS = 86_400_000;

/** Checks what a source promises against its settings, what is parked, what arrives and what the workers have measured. */
export function sourceContractReport(input: SourceContractInput): ContractReport {
  return reportOf(
    [
      dedupWindow(input),
      knownDays(input),
      age(input),
      drain(input),
      criticalPath(input),
      duplicates(input),
      ratio("retry-ratio", "retries / operations <= budgetRatio", input.sent, "retries", input.contract.budgetRatio),
      load(input),
    ].filter((assertion) => assertion !== null),
  );
}

/**
 * dedupWindow >= reorderingSpan. The span is the promised one, or as measured among the newest events: the longest time from the
 * first arrival to the redrive, and by which a later version arrived before an earlier one of its aggregate.
 */
function dedupWindow({ contract, spanMs }: SourceContractInput): Assertion {
  const formula = "dedupWindow >= reorderingSpan";
  const span = contract.reorderingSpanMs ?? spanMs;
  const measured = contract.reorderingSpanMs === null && span !== null ? " (measured)" : "";
  const numbers = `${msText(contract.dedupWindowMs)} >= ${msText(span)}${measured}`;
  if (contract.dedupWindowMs === null) return unknown("dedup-window", formula, numbers, "no dedupWindowMs is set");
  if (span === null)
    return unknown(
      "dedup-window",
      formula,
      numbers,
      "no reorderingSpanMs is set, and no event was redriven or overtaken",
    );
  return judged("dedup-window", formula, numbers, contract.dedupWindowMs >= span);
}

/** A consumer that remembers a key for longer than Parkade knows the event takes a repeat for a new event here, and refuses its redrive there. */
function knownDays({ contract, knownDays: days }: SourceContractInput): Assertion {
  const formula = "knownDays >= dedupWindow";
  const numbers = `${days === null ? "for good" : msText(days * DAY_MS)} >= ${msText(contract.dedupWindowMs)}`;
  if (contract.dedupWindowMs === null) return unknown("known-days", formula, numbers, "no dedupWindowMs is set");
  return judged("known-days", formula, numbers, days === null || days * DAY_MS >= contract.dedupWindowMs);
}

/** Ages are known by the hour: the oldest event is at least as old as shown. */
function age({ contract, oldestMsMin }: SourceContractInput): Assertion {
  const formula = "age of the oldest parked event <= promisedLatency";
  const numbers = `${oldestMsMin === null ? "nothing parked" : `at least ${msText(oldestMsMin)}`} <= ${msText(contract.promisedLatencyMs)}`;
  if (contract.promisedLatencyMs === null) return unknown("age", formula, numbers, "no promisedLatencyMs is set");
  return judged("age", formula, numbers, (oldestMsMin ?? 0) <= contract.promisedLatencyMs);
}

/** parked / rate <= promisedLatency: how long a redrive of all that is parked takes on the main lane. */
function drain({ contract, parked, ratePerSecond, engine }: SourceContractInput): Assertion {
  const formula = "drain = parked / rate of the main lane <= promisedLatency";
  const rate = capacityOf(ratePerSecond, engine);
  const promised = contract.promisedLatencyMs;
  if (promised === null)
    return unknown(
      "drain",
      formula,
      `${parked} / ${rate === null ? "?" : rounded(rate)} <= ?`,
      "no promisedLatencyMs is set",
    );
  if (rate === null && parked > 0)
    return unknown(
      "drain",
      formula,
      `${parked} / ? <= ${msText(promised)}`,
      "no rate is set, and no latency was measured",
    );
  const ms = parked === 0 ? 0 : (parked / rate!) * 1_000;
  const numbers = `${parked} / ${rate === null ? "?" : `${rounded(rate)} a second`} = ${msText(ms)} <= ${msText(promised)}`;
  return judged("drain", formula, numbers, ms <= promised);
}

/** Many duplicates mean that a producer or a broker resends accepted events, or that ids are not unique. */
function duplicates({ contract, arrivals }: SourceContractInput): Assertion {
  const { all, duplicates: known } = arrivals;
  return share("duplicate-ratio", "duplicates / arrivals <= duplicateRatio", {
    part: known,
    all,
    most: contract.duplicateRatio,
    what: "arrivals",
  });
}

const PATH = "sum of the deadlines of the stages below a caller <= deadline of the caller - margin";

/**
 * Deadlines of serial stages add up: for each caller, the sum of the deadlines of the stages between it and the source, the source
 * included, must be <= the deadline of the caller - its margin. The caller with the least to spare is shown. Only of a source that has
 * callers, or is critical.
 */
function criticalPath({ contract, paths, deadlineMs, marginMs }: SourceContractInput): Assertion | null {
  const own: CallPath[] =
    contract.callerDeadlineMs === null
      ? []
      : [
          {
            caller: "its callers",
            stages: ["the source"],
            sumMs: deadlineMs,
            deadlineMs: contract.callerDeadlineMs,
            marginMs: contract.marginMs ?? marginMs,
            fault: null,
          },
        ];
  const all = [...own, ...paths];
  if (all.length === 0) {
    if (contract.criticality !== "critical") return null;
    return unknown("critical-path", PATH, `${msText(deadlineMs)} <= ?`, "no callers and no callerDeadlineMs are set");
  }
  const judgedPaths = all.filter(({ fault }) => fault === null).sort((a, b) => spare(a) - spare(b));
  const [least] = judgedPaths;
  if (least && spare(least) < 0) return judged("critical-path", PATH, pathText(least), false);
  const faulty = all.find(({ fault }) => fault !== null);
  if (faulty) return unknown("critical-path", PATH, `${faulty.caller}: ?`, faulty.fault!);
  return judged("critical-path", PATH, pathText(least!), true);
}

function spare({ sumMs, deadlineMs, marginMs }: CallPath): number {
  return deadlineMs - marginMs - sumMs;
}

function pathText({ caller, stages, sumMs, deadlineMs, marginMs }: CallPath): string {
  return `${stages.join(" + ")} = ${msText(sumMs)} <= ${msText(deadlineMs)} - ${msText(marginMs)} of ${caller}`;
}

function load({ contract, ratePerSecond, engine, arrivalsPerSecond }: SourceContractInput): Assertion {
  const arrivals = contract.expectedPerSecond ?? arrivalsPerSecond;
  if (arrivals === null)
    return unknown(
      "load",
      LOAD,
      `? <= ${contract.loadMax}`,
      "no expectedPerSecond is set, and no arrivals were counted",
    );
  return rho(arrivals, capacityOf(ratePerSecond, engine), contract.loadMax);
}
