import { describe, expect, it } from "vitest";
import { fitsDeadline } from "@/lib/retry/bounds";
import { checkFields } from "@/lib/retry/check-fields";
import { assertPolicy, POLICY_PRESETS, type Policy, parsePolicy, validatePolicy } from "@/lib/retry/policy";
import { PolicyError } from "@/lib/retry/policy-error";
import { dynamicTimeoutMs } from "@/lib/retry/timeout/dynamic";
import { latencyHistory } from "@/lib/retry/timeout/latency";
import { phaseLimit } from "@/lib/retry/timeout/phases";

const POLICY: Policy = {
  maxAttempts: 3,
  attemptTimeoutMs: 1_000,
  deadlineMs: 60_000,
  marginMs: 100,
  backoff: { kind: "exponential", baseMs: 10, factor: 2, capMs: 500, jitter: { kind: "full" } },
  throttledBackoff: { kind: "linear", baseMs: 20, capMs: 600, jitter: { kind: "fraction", fraction: 0.2 } },
  retryAfterMsMax: 60_000,
  budget: {
    kind: "ratio",
    ratio: 0.2,
    windowMs: 5_000,
    floorPerSecond: 1,
    ceilingPerSecond: 9,
    deposit: "success",
    cost: { transient: 2, throttled: 1 },
  },
  breaker: {
    trip: { kind: "count", size: 20, callsMin: 5, failureRatio: 0.4, slowCallMs: 900, slowRatio: 0.6 },
    openMs: 2_000,
    openMsMax: 9_000,
    probes: 2,
    probeMsMax: 7_000,
  },
  phases: { connectMs: 200, firstByteMs: 700 },
  dynamicTimeout: { quantile: 0.95, factor: 3, msMin: 50, samplesMin: 30 },
  hedge: { delayMs: 250, sendsMax: 2 },
  healing: {
    retryRatio: 0.3,
    timeoutRatio: 0.25,
    callsMin: 12,
    windowMs: 30_000,
    stepFactor: 1.5,
    stepsMax: 4,
    quietRatio: 0.4,
    cooldownMs: 20_000,
  },
};

/** The policy with the value at `path` (dots) replaced; `undefined` removes it. */
function changed(path: string, value: unknown): unknown {
  const copy = structuredClone(POLICY) as Record<string, unknown>;
  const names = path.split(".");
  const last = names.pop()!;
  let place: Record<string, unknown> = copy;
  for (const name of names) place = place[name] as Record<string, unknown>;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

const TIMER_MAX = 2 ** 31 - 1;

/** Field, the largest value below its range or null, the least allowed, the largest allowed, the least above. */
const RANGES: [path: string, below: number, least: number, most: number, above: number][] = [
  ["maxAttempts", 0, 1, 30, 1_001],
  ["attemptTimeoutMs", 0, 900, 2_000, TIMER_MAX + 1],
  ["deadlineMs", 0, 4_600, TIMER_MAX, TIMER_MAX + 1],
  ["marginMs", -1, 0, 50_000, TIMER_MAX + 1],
  ["retryAfterMsMax", -1, 0, TIMER_MAX, TIMER_MAX + 1],
  ["backoff.baseMs", -1, 0, 500, TIMER_MAX + 1],
  ["backoff.factor", 0.99, 1, 100, 100.1],
  ["backoff.capMs", -1, 10, 5_000, TIMER_MAX + 1],
  ["throttledBackoff.baseMs", -1, 0, 600, TIMER_MAX + 1],
  ["throttledBackoff.capMs", -1, 20, 5_000, TIMER_MAX + 1],
  ["throttledBackoff.jitter.fraction", -0.1, 0, 1, 1.1],
  ["budget.ratio", -0.1, 0, 1_000, 1_001],
  ["budget.windowMs", 999, 1_000, 60_000, 60_001],
  ["budget.floorPerSecond", -1, 0, 1e6, 1e6 + 1],
  ["budget.ceilingPerSecond", -1, 0, 1e6, 1e6 + 1],
  ["budget.cost.transient", 0, 0.1, 1e6, 1e6 + 1],
  ["budget.cost.throttled", -1, 0, 1e6, 1e6 + 1],
  ["breaker.trip.size", 0, 5, 100_000, 100_001],
  ["breaker.trip.callsMin", 0, 1, 20, 1e6 + 1],
  ["breaker.trip.failureRatio", 0, 0.01, 1, 1.01],
  ["breaker.trip.slowCallMs", 0, 1, TIMER_MAX, TIMER_MAX + 1],
  ["breaker.trip.slowRatio", 0, 0.01, 1, 1.01],
  ["breaker.openMs", 0, 1, 9_000, TIMER_MAX + 1],
  ["breaker.openMsMax", 0, 2_000, TIMER_MAX, TIMER_MAX + 1],
  ["breaker.probes", 0, 1, 1_000, 1_001],
  ["breaker.probeMsMax", 0, 1_000, TIMER_MAX, TIMER_MAX + 1],
  ["phases.connectMs", 0, 1, 700, TIMER_MAX + 1],
  ["phases.firstByteMs", 0, 200, 1_000, TIMER_MAX + 1],
  ["dynamicTimeout.quantile", 0.49, 0.5, 0.999, 0.9991],
  ["dynamicTimeout.factor", 0.9, 1, 100, 101],
  ["dynamicTimeout.msMin", 0, 1, 1_000, TIMER_MAX + 1],
  ["dynamicTimeout.samplesMin", 0, 1, 1e6, 1e6 + 1],
  ["hedge.delayMs", -1, 0, TIMER_MAX, TIMER_MAX + 1],
  ["hedge.sendsMax", 1, 2, 10, 11],
  ["healing.retryRatio", 0, 0.01, 1, 1.1],
  ["healing.timeoutRatio", 0, 0.01, 1, 1.1],
  ["healing.callsMin", 0, 1, 1e6, 1e6 + 1],
  ["healing.windowMs", 999, 1_000, 3_600_000, 3_600_001],
  ["healing.stepFactor", 1, 1.1, 10, 10.1],
  ["healing.stepsMax", 0, 1, 10, 11],
  ["healing.quietRatio", 0, 0.01, 1, 1.1],
  ["healing.cooldownMs", -1, 0, TIMER_MAX, TIMER_MAX + 1],
];

describe("every number of a policy", () => {
  it("is valid as it stands in the fixture", () => {
    expect(validatePolicy(POLICY)).toEqual([]);
  });

  it.each(RANGES)("%s is bounded on both sides", (path, below, least, most, above) => {
    for (const value of [below, above, Number.NaN, Number.POSITIVE_INFINITY, "7", undefined]) {
      const violations = validatePolicy(changed(path, value));
      expect(violations).toContainEqual({ field: path, value, bound: expect.any(String) });
    }
    for (const value of [least, most]) expect(validatePolicy(changed(path, value))).toEqual([]);
  });

  it.each(["maxAttempts", "breaker.probes", "breaker.trip.size"])("%s is a whole number", (path) => {
    expect(validatePolicy(changed(path, 2.5))).toMatchObject([{ field: path, value: 2.5 }]);
  });

  it("says which values would be right", () => {
    expect(validatePolicy(changed("maxAttempts", 0))).toEqual([
      { field: "maxAttempts", value: 0, bound: "a whole number >= 1 and <= 1000" },
    ]);
    expect(validatePolicy(changed("attemptTimeoutMs", 0))).toEqual([
      { field: "attemptTimeoutMs", value: 0, bound: "a number > 0 and <= 2147483647" },
    ]);
    expect(validatePolicy(changed("backoff.factor", 0))).toEqual([
      { field: "backoff.factor", value: 0, bound: "a number >= 1 and <= 100" },
    ]);
  });
});

describe("every part of a policy", () => {
  it.each(["throttledBackoff", "breaker", "phases", "dynamicTimeout", "hedge", "healing"])(
    "%s may be null but not missing",
    (part) => {
      expect(validatePolicy(changed(part, null))).toEqual([]);
      expect(validatePolicy(changed(part, undefined))).toEqual([{ field: part, value: undefined, bound: "an object" }]);
    },
  );

  it.each(["budget.ceilingPerSecond", "breaker.trip.slowCallMs"])("%s may be null", (path) => {
    expect(validatePolicy(changed(path, null))).toEqual([]);
  });

  it.each(["backoff", "budget"])("%s may not be null", (part) => {
    expect(validatePolicy(changed(part, null))).toEqual([{ field: part, value: null, bound: "an object" }]);
  });

  it.each(["maxAttempts", "marginMs"])("%s may not be null", (part) => {
    expect(validatePolicy(changed(part, null))).toMatchObject([{ field: part, value: null }]);
  });

  it.each([
    ["backoff.kind", "quadratic", "one of fixed, linear, exponential, ladder"],
    ["backoff.jitter.kind", "some", "one of none, full, equal, fraction, absolute, decorrelated"],
    ["throttledBackoff.jitter.kind", "decorrelated", "one of none, full, equal, fraction, absolute"],
    ["budget.kind", "infinite", "one of unlimited, ratio, quota, in-flight"],
    ["budget.deposit", "never", "one of request, success"],
    ["breaker.trip.kind", "toString", "one of consecutive, count, time"],
    ["breaker.trip.kind", 4, "one of consecutive, count, time"],
  ])("%s = %j is no choice", (path, value, bound) => {
    expect(validatePolicy(changed(path, value))).toEqual([{ field: path, value, bound }]);
  });

  it.each<[string, unknown]>([
    ["backoff", { kind: "fixed", delayMs: 5, jitter: { kind: "equal" } }],
    ["backoff", { kind: "ladder", stepsMs: [7], jitter: { kind: "none" } }],
    ["backoff", { kind: "ladder", stepsMs: Array(1_000).fill(0), jitter: { kind: "none" } }],
    ["backoff", { kind: "exponential", baseMs: 5, factor: 3, capMs: 9, jitter: { kind: "decorrelated" } }],
    ["budget", { kind: "unlimited" }],
    ["budget", { kind: "quota", capacity: 10, cost: { transient: 1, throttled: 0 }, reward: 0 }],
    ["budget", { kind: "in-flight", ratio: 0.2, retriesMin: 0 }],
    ["breaker.trip", { kind: "consecutive", failures: 1 }],
    ["breaker.trip", { kind: "time", windowMs: 2_000, callsMin: 1, failureRatio: 1, slowCallMs: null, slowRatio: 1 }],
  ])("%s = %j is valid", (path, value) => {
    expect(validatePolicy(changed(path, value))).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["backoff", { kind: "fixed", delayMs: -1, jitter: { kind: "none" } }, "backoff.delayMs"],
    ["backoff", { kind: "fixed", delayMs: 1 }, "backoff.jitter"],
    ["backoff", { kind: "ladder", stepsMs: [], jitter: { kind: "none" } }, "backoff.stepsMs"],
    ["backoff", { kind: "ladder", stepsMs: 5, jitter: { kind: "none" } }, "backoff.stepsMs"],
    ["backoff", { kind: "ladder", stepsMs: [1, -1], jitter: { kind: "none" } }, "backoff.stepsMs[1]"],
    ["backoff", { kind: "ladder", stepsMs: Array(1_001).fill(0), jitter: { kind: "none" } }, "backoff.stepsMs"],
    ["backoff", { kind: "linear", baseMs: 1, capMs: null, jitter: { kind: "none" } }, "backoff.capMs"],
    ["budget", { kind: "quota", capacity: -1, cost: { transient: 1, throttled: 0 }, reward: 0 }, "budget.capacity"],
    ["budget", { kind: "quota", capacity: 1, cost: { transient: 1, throttled: 0 }, reward: -1 }, "budget.reward"],
    ["budget", { kind: "quota", capacity: 1, cost: null, reward: 1 }, "budget.cost"],
    ["budget", { kind: "in-flight", ratio: 1.1, retriesMin: 0 }, "budget.ratio"],
    ["budget", { kind: "in-flight", ratio: 1, retriesMin: 0.5 }, "budget.retriesMin"],
    ["budget", { kind: "unlimited", ratio: 1 }, "budget.ratio"],
    ["breaker.trip", { kind: "consecutive", failures: 0 }, "breaker.trip.failures"],
    [
      "breaker.trip",
      { kind: "time", windowMs: 99, callsMin: 1, failureRatio: 1, slowCallMs: null, slowRatio: 1 },
      "breaker.trip.windowMs",
    ],
    ["breaker", [], "breaker"],
    ["hedge", "on", "hedge"],
  ])("%s = %j is refused by field", (path, value, field) => {
    expect(validatePolicy(changed(path, value)).map((violation) => violation.field)).toEqual([field]);
  });

  it("says how long a ladder may be", () => {
    const backoff = { kind: "ladder", stepsMs: [], jitter: { kind: "none" } };
    expect(validatePolicy(changed("backoff", backoff))).toEqual([
      { field: "backoff.stepsMs", value: [], bound: "a list of 1 to 1000 numbers" },
    ]);
  });

  it("names every field nobody knows, at any depth", () => {
    expect(validatePolicy({ ...POLICY, maxAttempt: 3, bulkhead: 9, hedge: { ...POLICY.hedge, queue: 2 } })).toEqual([
      { field: "hedge.queue", value: 2, bound: "not a field" },
      { field: "maxAttempt", value: 3, bound: "not a field" },
      { field: "bulkhead", value: 9, bound: "not a field" },
    ]);
  });

  it.each([null, undefined, 7, "policy", []])("%j is not a policy", (candidate) => {
    expect(validatePolicy(candidate)).toEqual([{ field: "policy", value: candidate, bound: "an object" }]);
  });
});

describe("fields that came later", () => {
  const later: [string, unknown][] = [
    ["retryOn", ["HTTP_503", "40001", "throttled", "unknown"]],
    ["stopOnOverload", { k: 2, windowMs: 120_000 }],
    ["breaker.probeEveryMs", 1_000],
    ["healing.queueRatio", 3],
    ["backoff.jitter", { kind: "absolute", ms: 50 }],
  ];

  it.each(later)("%s = %j is valid", (path, value) => {
    expect(validatePolicy(changed(path, value))).toEqual([]);
  });

  it.each(["retryOn", "stopOnOverload", "breaker.probeEveryMs", "healing.queueRatio"])(
    "%s may be absent: a policy that was stored before it existed goes on",
    (path) => {
      expect(validatePolicy(changed(path, undefined))).toEqual([]);
    },
  );

  it.each<[string, unknown, string]>([
    ["retryOn", [], "retryOn"],
    ["retryOn", "HTTP_503", "retryOn"],
    ["retryOn", ["HTTP_503", "http_503"], "retryOn[1]"],
    ["retryOn", ["permanent"], "retryOn[0]"],
    ["retryOn", Array(101).fill("A"), "retryOn"],
    ["stopOnOverload", { k: 0.9, windowMs: 120_000 }, "stopOnOverload.k"],
    ["stopOnOverload", { k: 2, windowMs: 999 }, "stopOnOverload.windowMs"],
    ["breaker.probeEveryMs", -1, "breaker.probeEveryMs"],
    ["breaker.probeEveryMs", 2_001, "breaker.probeEveryMs"],
    ["healing.queueRatio", 0, "healing.queueRatio"],
    ["backoff.jitter", { kind: "absolute", ms: -1 }, "backoff.jitter.ms"],
  ])("%s = %j is refused by field", (path, value, field) => {
    expect(validatePolicy(changed(path, value)).map((violation) => violation.field)).toEqual([field]);
  });
});

describe("relations between fields", () => {
  it.each<[string, unknown, string, string]>([
    ["attemptTimeoutMs", 61_000, "attemptTimeoutMs", "<= deadlineMs (60000)"],
    ["backoff.baseMs", 501, "backoff.baseMs", "<= backoff.capMs (500)"],
    ["throttledBackoff.baseMs", 601, "throttledBackoff.baseMs", "<= throttledBackoff.capMs (600)"],
    ["breaker.openMs", 9_001, "breaker.openMs", "<= breaker.openMsMax (9000)"],
    ["breaker.trip.callsMin", 21, "breaker.trip.callsMin", "<= trip.size (20)"],
    ["breaker.probeMsMax", 999, "breaker.probeMsMax", ">= attemptTimeoutMs (1000)"],
    ["phases.connectMs", 701, "phases.connectMs", "<= phases.firstByteMs (700)"],
    ["phases.firstByteMs", 1_001, "phases.firstByteMs", "<= attemptTimeoutMs (1000)"],
    ["dynamicTimeout.msMin", 1_001, "dynamicTimeout.msMin", "<= attemptTimeoutMs (1000)"],
    [
      "breaker.trip",
      { kind: "time", windowMs: 1_999, callsMin: 1, failureRatio: 1, slowCallMs: null, slowRatio: 1 },
      "breaker.trip.windowMs",
      ">= 2 x attemptTimeoutMs (1000)",
    ],
  ])("%s = %j breaks %s %s", (path, value, field, bound) => {
    expect(validatePolicy(changed(path, value))).toContainEqual({ field, value: expect.anything(), bound });
  });

  it("hold when the parts they speak of are absent", () => {
    const bare = { ...POLICY, throttledBackoff: null, breaker: null, phases: null, dynamicTimeout: null };
    expect(validatePolicy(bare)).toEqual([]);
  });
});

describe("the assertion", () => {
  const tight = {
    ...POLICY,
    throttledBackoff: null,
    backoff: { ...POLICY.backoff, baseMs: 100 },
    marginMs: 50,
  } as Policy;
  /** 3 attempts of 1 s, 100 ms and 200 ms between them, 50 ms of margin. */
  const needsMs = 3_350;

  it("refuses a policy whose attempts do not fit its deadline, and says what would fit", () => {
    expect(validatePolicy({ ...tight, deadlineMs: needsMs })).toEqual([]);
    expect(validatePolicy({ ...tight, deadlineMs: needsMs - 1 })).toEqual([
      {
        field: "deadlineMs",
        value: needsMs - 1,
        bound: `>= ${needsMs} (all attempts, their longest delays and the margin)`,
      },
    ]);
  });

  it("throws before anything runs, naming each field, its value and its bound", () => {
    expect(() => assertPolicy({ ...POLICY, maxAttempts: 0, marginMs: -5 })).toThrow(PolicyError);
    expect(() => parsePolicy({ ...POLICY, maxAttempts: 0, marginMs: -5 })).toThrow(
      "policy refused: maxAttempts = 0, a whole number >= 1 and <= 1000; marginMs = -5, a number >= 0 and <= 2147483647",
    );
    expect(() => parsePolicy(changed("maxAttempts", undefined))).toThrow("maxAttempts = nothing");
    expect(() => parsePolicy(changed("maxAttempts", () => 1))).toThrow("maxAttempts = () => 1");
    const error = new PolicyError([{ field: "f", value: 1, bound: "b" }]);
    expect([error.name, error.violations]).toEqual(["PolicyError", [{ field: "f", value: 1, bound: "b" }]]);
  });

  it("answers the policy it was given", () => {
    expect(parsePolicy(POLICY)).toBe(POLICY);
  });

  it("remembers a policy that passed, and no other", () => {
    const policy = structuredClone(POLICY);
    assertPolicy(policy);
    policy.maxAttempts = 0;
    expect(() => assertPolicy(policy)).not.toThrow();
    expect(() => assertPolicy({ ...policy })).toThrow(PolicyError);
    expect(() => assertPolicy({ ...policy })).toThrow(PolicyError);
  });
});

describe("the presets", () => {
  it.each(Object.entries(POLICY_PRESETS))("%s is valid and fits", (_, preset) => {
    expect(validatePolicy(preset)).toEqual([]);
    expect(fitsDeadline(preset)).toBe(true);
    expect(() => assertPolicy(preset)).not.toThrow();
  });

  it("survive the way through JSON", () => {
    for (const preset of Object.values(POLICY_PRESETS)) {
      expect(JSON.parse(JSON.stringify(preset))).toEqual(preset);
    }
  });

  it("keep what was promised of them", () => {
    expect(POLICY_PRESETS.interactive).toMatchObject({ deadlineMs: 2_500, maxAttempts: 3 });
    expect(POLICY_PRESETS.ladder.maxAttempts).toBe(5);
    expect(POLICY_PRESETS["slow-lane"].backoff).toEqual({
      kind: "exponential",
      baseMs: 1_000,
      factor: 2,
      capMs: 30_000,
      jitter: { kind: "full" },
    });
    expect(POLICY_PRESETS.ladder.backoff).toEqual({
      kind: "ladder",
      stepsMs: [200, 500, 1_200, 2_500, 5_000],
      // Callers that failed at the same moment must not repeat at the same moments.
      jitter: { kind: "full" },
    });
    // A target with a p99 of 300 ms: a connection has 1 s at most, an attempt twice the p99.
    const { phases, dynamicTimeout, attemptTimeoutMs } = POLICY_PRESETS.adaptive;
    const history = latencyHistory();
    for (let call = 0; call < 100; call++) history.record(300);
    const timeoutMs = dynamicTimeoutMs(dynamicTimeout, history, attemptTimeoutMs);
    expect(timeoutMs).toBe(2 * history.quantileMs(0.99)!);
    expect(timeoutMs).toBeLessThan(attemptTimeoutMs);
    expect(phaseLimit("connecting", phases, { wholeMs: attemptTimeoutMs })).toEqual({
      ms: 1_000,
      code: "TIMEOUT_CONNECT",
    });
    for (const preset of Object.values(POLICY_PRESETS)) {
      expect(preset.budget).toMatchObject({ kind: "ratio", ratio: 0.1, floorPerSecond: 3, deposit: "request" });
      expect(preset.breaker).toMatchObject({ openMs: 30_000, probes: 1, probeEveryMs: 1_000 });
      expect(preset.hedge).toBeNull();
    }
    expect(POLICY_PRESETS.interactive.healing).toBeNull();
    expect(POLICY_PRESETS["slow-lane"].healing).toMatchObject({ stepsMax: 3 });
  });
});

describe("checkFields", () => {
  it("reads no inherited field as its own", () => {
    expect(checkFields({}, { toString: { kind: "choice" as const, of: ["x"] } }).map(({ field }) => field)).toEqual([
      "toString",
    ]);
    expect(checkFields({ constructor: 1 }, {})).toEqual([{ field: "constructor", value: 1, bound: "not a field" }]);
  });
});
