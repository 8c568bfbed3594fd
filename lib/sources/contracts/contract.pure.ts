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

/** Thresholds of document 001 for repeats and timeouts; the load leaves room for a worker that is lost. */
export const CONTRACT_DEFAULTS: Contract = {
  semantics: null,
  dedupWindowMs: null,
  reorderingSpanMs: null,
  promisedLatencyMs: null,
  callerDeadlineMs: null,
  marginMs: null,
  promisedSuccess: null,
  expectedPerSecond: null,
  budgetRatio: 0.005,
  timeoutRatio: 0.01,
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
};

export type AssertionId =
  | "semantics"
  | "dedup-window"
  | "latency"
  | "queueing"
  | "deadline"
  | "critical-path"
  | "success"
  | "retry-ratio"
  | "timeout-ratio"
  | "load";

export type Assertion = {
  id: AssertionId;
  formula: string;
  /** The formula with its numbers put in. */
  numbers: string;
  result: "holds" | "broken" | "unknown";
  /** Why it is unknown; null otherwise. */
  reason: string | null;
};

export type ContractReport = { result: Assertion["result"]; assertions: Assertion[] };

/** Fewer operations than this say nothing of a share: one failure of ten would be ten per cent. */
const OPERATIONS_MIN = 20;

export type ContractInput = { contract: Contract; terms: ContractTerms; facts: ContractFacts | null };

/** Checks a contract against the policy, the target and what was measured. In the order in which a policy is designed. */
export function contractReport(input: ContractInput): ContractReport {
  const assertions = [
    semantics(input),
    dedupWindow(input),
    latency(input),
    queueing(input),
    deadline(input),
    criticalPath(input),
    success(input),
    ratio("retry-ratio", "retries / operations <= budgetRatio", input, "retries", input.contract.budgetRatio),
    ratio("timeout-ratio", "timeouts / operations <= timeoutRatio", input, "timeouts", input.contract.timeoutRatio),
    load(input),
  ].filter((assertion) => assertion !== null);
  const worst = (["broken", "unknown", "holds"] as const).find((one) =>
    assertions.some(({ result }) => result === one),
  );
  return { result: worst ?? "unknown", assertions };
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

function ratio(
  id: AssertionId,
  formula: string,
  { facts }: ContractInput,
  part: "retries" | "timeouts",
  most: number,
): Assertion {
  if (facts === null || facts.operations < OPERATIONS_MIN) {
    const numbers = `${facts?.[part] ?? "?"} / ${facts?.operations ?? "?"} <= ${most}`;
    return unknown(id, formula, numbers, `fewer than ${OPERATIONS_MIN} operations were counted`);
  }
  const share = facts[part] / facts.operations;
  return judged(id, formula, `${facts[part]} / ${facts.operations} = ${rounded(share)} <= ${most}`, share <= most);
}

function load({ contract, terms, facts }: ContractInput): Assertion {
  const formula = "rho = arrivals / min(permits / latency p95, rate limit) <= loadMax";
  const arrivals = contract.expectedPerSecond ?? facts?.sentPerSecond ?? null;
  const latencyMs = facts?.latencyP95Ms ?? null;
  const most = contract.loadMax;
  if (arrivals === null)
    return unknown("load", formula, `? <= ${most}`, "no expectedPerSecond is set, and no sends were counted");
  // A latency of less than a tenth of a millisecond is not measured.
  const byPermits = latencyMs === null ? null : (facts!.permits * 1_000) / Math.max(0.1, latencyMs);
  const limits = [byPermits, terms.ratePerSecond].filter((one) => one !== null);
  if (limits.length === 0)
    return unknown("load", formula, `${rounded(arrivals)} / ? <= ${most}`, "no latency was measured");
  const capacity = Math.min(...limits);
  const rho = arrivals / capacity;
  return judged(
    "load",
    formula,
    `${rounded(arrivals)} / ${rounded(capacity)} = ${rounded(rho)} <= ${most}`,
    rho <= most,
  );
}

function judged(id: AssertionId, formula: string, numbers: string, holds: boolean): Assertion {
  return { id, formula, numbers, result: holds ? "holds" : "broken", reason: null };
}

function unknown(id: AssertionId, formula: string, numbers: string, reason: string): Assertion {
  return { id, formula, numbers, result: "unknown", reason };
}

function msText(ms: number | null): string {
  return ms === null ? "?" : `${rounded(ms)} ms`;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** A report for a review, as Markdown. */
export function reportMarkdown(
  report: { target: string } & Pick<ContractReport, "result"> & {
      assertions: readonly (Omit<Assertion, "id"> & { id: string })[];
    },
): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const rows = report.assertions.map(
    ({ id, formula, numbers, result, reason }) =>
      `| ${id} | ${result}${reason === null ? "" : `: ${reason}`} | ${cell(formula)} | ${cell(numbers)} |`,
  );
  return `## ${report.target}: ${report.result}\n\n| assertion | result | formula | numbers |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
}
