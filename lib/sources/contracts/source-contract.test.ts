import { describe, expect, it } from "vitest";
import { callPaths, type Stage } from "@/lib/sources/contracts/call-paths.pure";
import {
  SOURCE_CONTRACT_DEFAULTS,
  type SourceContract,
  type SourceContractInput,
  sourceContractReport,
} from "@/lib/sources/contracts/source-contract.pure";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const CONTRACT: SourceContract = {
  ...SOURCE_CONTRACT_DEFAULTS,
  promisedLatencyMs: 4 * HOUR,
  callerDeadlineMs: 65_000,
  dedupWindowMs: 7 * DAY,
  expectedPerSecond: 35,
  budgetRatio: 0.1,
  criticality: "critical",
};
const INPUT: SourceContractInput = {
  contract: CONTRACT,
  knownDays: 7,
  ratePerSecond: 50,
  deadlineMs: 60_000,
  marginMs: 5_000,
  parked: 720_000,
  oldestMsMin: 4 * HOUR,
  arrivalsPerSecond: 2,
  arrivals: { all: 200, duplicates: 2 },
  spanMs: 7 * DAY,
  sent: { operations: 100, retries: 10, timeouts: 50 },
  engine: { permits: 20, latencyP95Ms: 400 },
  paths: [],
};

function judge(id: string, contract: Partial<SourceContract>, input: Partial<SourceContractInput> = {}) {
  const report = sourceContractReport({ ...INPUT, ...input, contract: { ...CONTRACT, ...contract } });
  return report.assertions.find((assertion) => assertion.id === id);
}

describe("a contract of a source", () => {
  it("holds at every bound, with its formula and numbers", () => {
    const report = sourceContractReport(INPUT);
    expect(report.result).toBe("holds");
    expect(Object.fromEntries(report.assertions.map(({ id, numbers }) => [id, numbers]))).toEqual({
      "dedup-window": "7 d >= 7 d (measured)",
      "known-days": "7 d >= 7 d",
      age: "at least 4 h <= 4 h",
      drain: "720000 / 50 a second = 4 h <= 4 h",
      "critical-path": "the source = 60000 ms <= 65000 ms - 5000 ms of its callers",
      "duplicate-ratio": "2 / 200 = 0.01 <= 0.01",
      "retry-ratio": "10 / 100 = 0.1 <= 0.1",
      load: "35 / 50 = 0.7 <= 0.7",
    });
  });

  it.each<[string, Partial<SourceContract>, Partial<SourceContractInput>]>([
    ["dedup-window", {}, { spanMs: 7 * DAY + 1 }],
    ["dedup-window", { reorderingSpanMs: 8 * DAY }, { spanMs: 1 }],
    ["known-days", { dedupWindowMs: 7 * DAY + 1 }, {}],
    ["age", {}, { oldestMsMin: 4 * HOUR + 1 }],
    ["drain", {}, { parked: 720_001 }],
    ["drain", {}, { ratePerSecond: 49 }],
    ["drain", {}, { ratePerSecond: null, engine: { permits: 19, latencyP95Ms: 400 } }],
    ["critical-path", { callerDeadlineMs: 64_999 }, {}],
    ["critical-path", { marginMs: 5_001 }, {}],
    ["critical-path", { criticality: "normal" }, { deadlineMs: 60_001 }],
    ["retry-ratio", {}, { sent: { operations: 100, retries: 11, timeouts: 0 } }],
    ["duplicate-ratio", {}, { arrivals: { all: 199, duplicates: 2 } }],
    ["load", { expectedPerSecond: 35.1 }, {}],
    ["load", { expectedPerSecond: null }, { arrivalsPerSecond: 36 }],
  ])("%s is broken by %j, %j", (id, contract, input) => {
    expect(judge(id, contract, input)).toMatchObject({ result: "broken", reason: null });
  });

  it.each<[string, Partial<SourceContract>, Partial<SourceContractInput>, string]>([
    ["dedup-window", { dedupWindowMs: null }, {}, "no dedupWindowMs is set"],
    ["dedup-window", {}, { spanMs: null }, "no event was redriven or overtaken"],
    ["known-days", { dedupWindowMs: null }, {}, "no dedupWindowMs is set"],
    ["age", { promisedLatencyMs: null }, {}, "no promisedLatencyMs is set"],
    ["drain", { promisedLatencyMs: null }, {}, "no promisedLatencyMs is set"],
    ["drain", {}, { ratePerSecond: null, engine: null }, "no rate is set, and no latency was measured"],
    ["critical-path", { callerDeadlineMs: null }, {}, "no callers and no callerDeadlineMs are set"],
    ["retry-ratio", {}, { sent: null }, "fewer than 20 operations were counted"],
    ["duplicate-ratio", {}, { arrivals: { all: 19, duplicates: 19 } }, "fewer than 20 arrivals were counted"],
    ["load", { expectedPerSecond: null }, { arrivalsPerSecond: null }, "no arrivals were counted"],
  ])("%s is unknown with %j, %j: %s", (id, contract, input, reason) => {
    expect(judge(id, contract, input)).toMatchObject({ result: "unknown", reason: expect.stringContaining(reason) });
  });

  it("is kept by an empty source without a rate, and by one that is known for good", () => {
    expect(judge("drain", {}, { parked: 0, oldestMsMin: null, ratePerSecond: null, engine: null })?.result).toBe(
      "holds",
    );
    expect(judge("age", {}, { oldestMsMin: null })).toMatchObject({
      result: "holds",
      numbers: "nothing parked <= 4 h",
    });
    expect(judge("known-days", {}, { knownDays: null })?.result).toBe("holds");
  });

  it("asks for callers of a critical source alone", () => {
    expect(judge("critical-path", { callerDeadlineMs: null, criticality: "normal" })).toBeUndefined();
  });
});

describe("the path to a source", () => {
  const stage = (deadlineMs: number, ...callers: string[]): Stage => ({ deadlineMs, marginMs: 100, callers });
  const of = (stages: Record<string, Stage>) => callPaths("stock", new Map(Object.entries(stages)));

  it("adds the deadlines of serial stages, over the longest way", () => {
    const paths = of({
      stock: stage(1_000, "billing", "orders"),
      billing: stage(2_000, "orders"),
      orders: stage(3_100, "shop"),
      shop: stage(6_000),
    });
    expect(paths.map(({ caller, stages, sumMs }) => [caller, stages, sumMs])).toEqual([
      ["billing", ["stock"], 1_000],
      ["orders", ["billing", "stock"], 3_000],
      ["shop", ["orders", "billing", "stock"], 6_100],
    ]);
    // Of three callers the one with the least to spare is shown.
    expect(judge("critical-path", { callerDeadlineMs: null }, { paths })).toMatchObject({
      result: "broken",
      numbers: "orders + billing + stock = 6100 ms <= 6000 ms - 100 ms of shop",
    });
    expect(judge("critical-path", { callerDeadlineMs: null }, { paths: paths.slice(0, 2) })).toMatchObject({
      result: "holds",
      numbers: "billing + stock = 3000 ms <= 3100 ms - 100 ms of orders",
    });
  });

  it.each<[string, Record<string, Stage>, string]>([
    ["a caller that is gone", { stock: stage(1, "orders") }, "there is no source or target orders any more"],
    ["a circle", { stock: stage(1, "orders"), orders: stage(1, "stock") }, "stock calls itself"],
  ])("%s cannot be judged", (_, stages, reason) => {
    const paths = of(stages);
    expect(judge("critical-path", { callerDeadlineMs: null }, { paths })).toMatchObject({
      result: "unknown",
      reason: expect.stringContaining(reason),
    });
    // What is surely broken stays so.
    expect(judge("critical-path", { callerDeadlineMs: 1_000 }, { paths })?.result).toBe("broken");
  });

  it("costs the edges, where every stage calls every later one", () => {
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    const dense = new Map<string, Stage>(names.map((name, index) => [name, stage(10, ...names.slice(index + 1))]));
    expect(callPaths("s0", dense).at(-1)).toMatchObject({ caller: "s199", sumMs: 1_990 });
  });
});
