import { describe, expect, it } from "vitest";
import { reportMarkdown } from "@/lib/sources/contracts/assertion.pure";
import {
  CONTRACT_DEFAULTS,
  type Contract,
  type ContractFacts,
  type ContractTerms,
  contractReport,
} from "@/lib/sources/contracts/contract.pure";

const TERMS: ContractTerms = {
  maxAttempts: 3,
  attemptTimeoutMs: 1_000,
  worstMs: 3_400,
  deadlineMs: 4_000,
  marginMs: 100,
  retryable: true,
  ratePerSecond: 40,
};
const FACTS: ContractFacts = {
  operations: 1_000,
  attempts: 1_100,
  succeeded: 990,
  retries: 100,
  timeouts: 5,
  waitP99Ms: 200,
  latencyP95Ms: 400,
  latencyP99Ms: 800,
  permits: 20,
  sentPerSecond: 28,
  repeated: { repeats: 12, otherKeys: 0, againMs: 3_400 },
};
const FULL: Contract = {
  ...CONTRACT_DEFAULTS,
  semantics: "effectively-once",
  dedupWindowMs: 3_400,
  reorderingSpanMs: 3_000,
  promisedLatencyMs: 800,
  callerDeadlineMs: 4_001,
  marginMs: 601,
  promisedSuccess: 0.999,
  criticality: "critical",
};

function judge(
  id: string,
  contract: Partial<Contract>,
  terms: Partial<ContractTerms> = {},
  facts: Partial<ContractFacts> | null = {},
) {
  const report = contractReport({
    contract: { ...FULL, ...contract },
    terms: { ...TERMS, ...terms },
    facts: facts && { ...FACTS, ...facts },
  });
  return report.assertions.find((assertion) => assertion.id === id);
}

describe("a contract", () => {
  it("holds at every bound, in the order in which a policy is designed", () => {
    const report = contractReport({ contract: FULL, terms: TERMS, facts: FACTS });
    expect(report.assertions.filter(({ result }) => result !== "holds")).toEqual([]);
    expect(report.result).toBe("holds");
    expect(report.assertions.map(({ id }) => id)).toEqual([
      "semantics",
      "dedup-window",
      "key-stability",
      "no-side-effect-dup",
      "latency",
      "queueing",
      "deadline",
      "critical-path",
      "success",
      "retry-ratio",
      "timeout-ratio",
      "load",
    ]);
  });

  it.each<[string, Partial<Contract>, Partial<ContractTerms>, Partial<ContractFacts>]>([
    ["semantics", { semantics: "at-most-once" }, {}, {}],
    ["semantics", { semantics: "at-least-once" }, { retryable: false }, {}],
    ["semantics", { semantics: "at-least-once" }, { maxAttempts: 1 }, {}],
    ["semantics", { dedupWindowMs: null }, {}, {}],
    ["dedup-window", { dedupWindowMs: 3_399 }, {}, {}],
    ["dedup-window", { reorderingSpanMs: 3_401 }, {}, {}],
    ["key-stability", {}, {}, { repeated: { repeats: 12, otherKeys: 1, againMs: null } }],
    ["no-side-effect-dup", {}, {}, { repeated: { repeats: 12, otherKeys: 1, againMs: 10 } }],
    ["no-side-effect-dup", {}, {}, { repeated: { repeats: 12, otherKeys: 0, againMs: 3_401 } }],
    ["no-side-effect-dup", { dedupWindowMs: null }, {}, {}],
    ["no-side-effect-dup", { semantics: "at-most-once" }, {}, {}],
    ["latency", {}, {}, { latencyP99Ms: 801 }],
    ["queueing", {}, {}, { waitP99Ms: 201 }],
    ["deadline", { callerDeadlineMs: 4_000 }, {}, {}],
    ["deadline", { callerDeadlineMs: null }, { deadlineMs: 4_000 }, {}],
    ["critical-path", { callerDeadlineMs: 4_000 }, {}, {}],
    ["success", {}, { retryable: false }, {}],
    ["success", { promisedSuccess: 0.9991 }, {}, {}],
    ["retry-ratio", {}, {}, { retries: 101 }],
    ["timeout-ratio", {}, {}, { timeouts: 6 }],
    ["load", { expectedPerSecond: 28.1 }, {}, {}],
    ["load", {}, {}, { permits: 15 }],
  ])("%s is broken by %j, %j, %j", (id, contract, terms, facts) => {
    expect(judge(id, contract, terms, facts)).toMatchObject({ result: "broken", reason: null });
  });

  it.each<[string, Partial<Contract>, Partial<ContractFacts> | null, string]>([
    ["semantics", { semantics: null }, {}, "no semantics is set"],
    ["dedup-window", { dedupWindowMs: null }, {}, "no dedupWindowMs is set"],
    ["key-stability", {}, null, "no repeat was counted in the last ten minutes"],
    ["no-side-effect-dup", {}, null, "no repeat was counted in the last ten minutes"],
    ["latency", { promisedLatencyMs: null }, {}, "no promisedLatencyMs is set"],
    ["latency", {}, null, "no latency was measured"],
    ["queueing", { callerDeadlineMs: null }, {}, "no callerDeadlineMs is set"],
    ["queueing", {}, { waitP99Ms: null }, "no wait was measured"],
    ["critical-path", { callerDeadlineMs: null }, {}, "no callerDeadlineMs is set"],
    ["success", { promisedSuccess: null }, {}, "no promisedSuccess is set"],
    ["success", {}, { attempts: 19 }, "fewer than 20 attempts were counted"],
    ["retry-ratio", {}, { operations: 19 }, "fewer than 20 operations were counted"],
    ["timeout-ratio", {}, null, "fewer than 20 operations were counted"],
    ["load", {}, null, "no expectedPerSecond is set, and no sends were counted"],
  ])("%s is unknown with %j, %j: %s", (id, contract, facts, reason) => {
    expect(judge(id, contract, {}, facts)).toMatchObject({ result: "unknown", reason });
  });

  it("allows a second effect where at-least-once is agreed, and none of what never arrived is one", () => {
    expect(judge("no-side-effect-dup", { semantics: "at-least-once" })).toBeUndefined();
    const repeated = { repeats: 12, otherKeys: 0, againMs: null };
    expect(judge("no-side-effect-dup", { semantics: "at-most-once" }, {}, { repeated })).toMatchObject({
      result: "holds",
    });
  });

  it("knows the load by the rate limit alone, and by neither not at all", () => {
    expect(judge("load", { expectedPerSecond: 28 }, {}, null)).toMatchObject({ result: "holds" });
    expect(judge("load", { expectedPerSecond: 28 }, { ratePerSecond: null }, null)).toMatchObject({
      reason: "no latency was measured",
    });
  });

  it("asks for a tighter deadline of a critical path alone", () => {
    expect(judge("critical-path", { criticality: "normal" })).toBeUndefined();
  });

  it("is as bad as its worst assertion", () => {
    const of = (contract: Partial<Contract>) =>
      contractReport({ contract: { ...FULL, ...contract }, terms: TERMS, facts: FACTS }).result;
    expect(of({ semantics: null })).toBe("unknown");
    expect(of({ semantics: null, promisedLatencyMs: 1 })).toBe("broken");
  });

  it("shows its formula with the numbers", () => {
    const { assertions } = contractReport({ contract: FULL, terms: TERMS, facts: FACTS });
    expect(Object.fromEntries(assertions.map(({ id, numbers }) => [id, numbers]))).toMatchObject({
      deadline: "3 x 1000 ms + 400 ms = 3400 ms <= 4001 ms - 601 ms",
      success: "1 - 0.1^3 = 0.999 >= 0.999",
      load: "28 / 40 = 0.7 <= 0.7",
    });
    expect(reportMarkdown("orders", { result: "holds", assertions })).toContain(
      "| retry-ratio | holds | retries / operations <= budgetRatio | 100 / 1000 = 0.1 <= 0.1 |",
    );
  });
});
