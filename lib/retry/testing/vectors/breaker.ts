import { Breaker, type BreakerPolicy, DENIED } from "@/lib/retry/breaker/breaker";
import { shouldTrip, type Trip, timeSlots } from "@/lib/retry/breaker/trip";
import {
  type Case,
  type Cases,
  type Cell,
  type Check,
  eachRow,
  sameFor,
  type Vector,
} from "@/lib/retry/testing/vectors/vector";

const BASE: BreakerPolicy = {
  trip: { kind: "consecutive", failures: 2 },
  openMs: 5_000,
  openMsMax: 5_000,
  probes: 1,
  probeMsMax: 60_000,
};

function rates(params: Vector["params"]) {
  return {
    callsMin: params.minCalls,
    failureRatio: params.failureRatio,
    slowCallMs: params.slowMs ?? null,
    slowRatio: params.slowRatio ?? 1,
  };
}

function stateOf(breaker: Breaker, nowMs: number): string {
  return breaker.snapshot(nowMs).state;
}

/** A call that passes, takes `elapsedMs` and reports. */
function pass(breaker: Breaker, failed: boolean, nowMs: number, elapsedMs = 0): void {
  breaker.record(breaker.acquire(nowMs), failed, elapsedMs, nowMs);
}

function opened(policy: Partial<BreakerPolicy> = {}): Breaker {
  const breaker = new Breaker({ ...BASE, ...policy }, 0);
  for (let _call = 0; stateOf(breaker, 0) === "closed"; _call++) pass(breaker, true, 0);
  return breaker;
}

const timeWindow: Case = (vector) => {
  const trip: Trip = { kind: "time", windowMs: vector.params.windowS * 1000, ...rates(vector.params) };
  const breaker = new Breaker({ ...BASE, trip }, 0);
  let nowMs = 0;
  return eachRow(vector, ([advanceS, result, state]) => {
    nowMs += Number(advanceS) * 1000;
    pass(breaker, result === "F", nowMs);
    return { actual: stateOf(breaker, nowMs), expected: state };
  });
};

const flow: Case = (vector) => {
  const { consecutive, halfOpenAfterMs } = vector.params;
  const openMs = [halfOpenAfterMs].flat() as number[];
  const trip: Trip = { kind: "consecutive", failures: consecutive };
  const breaker = new Breaker({ ...BASE, trip, openMs: openMs[0]!, openMsMax: openMs.at(-1)! }, 0);
  let nowMs = 0;
  return eachRow(vector, ([advanceMs, call, outcome, stateAfter]) => {
    nowMs += Number(advanceMs);
    const permit = breaker.acquire(nowMs);
    if (permit !== DENIED) breaker.record(permit, call === "F", 0, nowMs);
    const actual = permit === DENIED ? "rejected" : call === "F" ? "error" : "ok";
    return { actual: [actual, stateOf(breaker, nowMs)], expected: [outcome, stateAfter] };
  });
};

const decision: Case = ({ input, expect }) => [
  {
    what: "should break",
    actual: shouldTrip(
      { calls: input.throughput, failures: Math.round(input.failureRate * input.throughput), slow: 0 },
      { callsMin: input.minimumThroughput, failureRatio: input.threshold, slowCallMs: null, slowRatio: 1 },
    ),
    expected: expect.shouldBreak,
  },
];

/** Half-open with four probes that must answer within a second. */
function halfOpen(policy: Partial<BreakerPolicy> = {}): { breaker: Breaker; permits: number[]; nowMs: number } {
  const trip: Trip = { kind: "count", size: 4, callsMin: 4, failureRatio: 0.5, slowCallMs: 2_000, slowRatio: 0.5 };
  const breaker = opened({ trip, probes: 4, ...policy });
  const nowMs = BASE.openMs;
  return { breaker, permits: [1, 2, 3, 4].map(() => breaker.acquire(nowMs)), nowMs };
}

function trips(cfg: string): Trip {
  const [, threshold, size] = /(\d+)(?:\/(\d+))?$/.exec(cfg)!;
  if (size === undefined) return { kind: "consecutive", failures: Number(threshold) };
  const failureRatio = Number(threshold) / Number(size);
  return { kind: "count", size: Number(size), callsMin: Number(size), failureRatio, slowCallMs: null, slowRatio: 1 };
}

function states(cfg: string, results: string): string[] {
  const breaker = new Breaker({ ...BASE, trip: trips(cfg) }, 0);
  return [...results].map((result) => {
    pass(breaker, result === "F", 0);
    return stateOf(breaker, 0);
  });
}

export const BREAKER_CASES: Cases = {
  ...sameFor(["breaker-101", "breaker-102"], timeWindow),
  "breaker-103": (vector) => {
    const trip: Trip = { kind: "count", size: 100, ...rates(vector.params) };
    const breaker = new Breaker({ ...BASE, trip }, 0);
    return eachRow(vector, ([durationMs, result, state]) => {
      pass(breaker, result === "F", 0, Number(durationMs));
      return { actual: stateOf(breaker, 0), expected: state };
    });
  },
  "breaker-104": (vector) => {
    const breaker = opened({ openMs: vector.params.openMs });
    let nowMs = 0;
    const checks = eachRow(vector, ([advanceMs, granted, state]) => {
      nowMs += Number(advanceMs);
      const permit = breaker.acquire(nowMs);
      return { actual: [permit !== DENIED, stateOf(breaker, nowMs)], expected: [granted, state] };
    });
    return [...checks, { what: "metrics reset", actual: breaker.snapshot(nowMs).calls, expected: 0 }];
  },
  "breaker-105": (vector) => {
    const breaker = opened({ probes: vector.params.permits });
    const permits: number[] = [];
    return eachRow(vector, ([op, granted]) => {
      if (op === "release") {
        breaker.release(permits[0]!);
        return { actual: null, expected: granted };
      }
      permits.push(breaker.acquire(BASE.openMs));
      return { actual: permits.at(-1) !== DENIED, expected: granted };
    });
  },
  "breaker-107": () => {
    const { breaker, permits, nowMs } = halfOpen();
    for (const [index, permit] of permits.entries()) breaker.record(permit, false, index < 3 ? 3_000 : 10, nowMs);
    return [{ what: "state", actual: stateOf(breaker, nowMs), expected: "open" }];
  },
  "breaker-108": () => {
    const { breaker, nowMs } = halfOpen({ probeMsMax: 1_000 });
    return [
      { what: "just before", actual: stateOf(breaker, nowMs + 999), expected: "half-open" },
      { what: "after 1 s", actual: stateOf(breaker, nowMs + 1_000), expected: "open" },
    ];
  },
  "breaker-109": () => {
    const { breaker, permits, nowMs } = halfOpen();
    breaker.release(permits[0]!);
    const { failures, calls } = breaker.snapshot(nowMs);
    return [
      { what: "counts", actual: [calls, failures], expected: [0, 0] },
      { what: "permit is free again", actual: breaker.acquire(nowMs) !== DENIED, expected: true },
    ];
  },
  ...sameFor(["breaker-110", "breaker-112", "breaker-114"], decision),
  "breaker-116": () => {
    const breaker = opened();
    return [
      { what: "the probe", actual: breaker.acquire(BASE.openMs) !== DENIED, expected: true },
      { what: "the others are rejected", actual: breaker.acquire(BASE.openMs), expected: DENIED },
    ];
  },
  ...sameFor(["breaker-117", "breaker-118"], flow),
  "breaker-121": (vector) =>
    eachRow(vector, ([durationMs, windows, windowSizeMs, effective]: Cell[]) => {
      const { slots, slotMs } = timeSlots(Number(durationMs));
      return { actual: [slots, slotMs, slots * slotMs], expected: [windows, windowSizeMs, effective] };
    }),
  "breaker-122": ({ cases }) =>
    cases.map(({ cfg, results, states: expected, final }: Record<string, string & string[]>): Check => {
      const actual = states(cfg!, results!);
      return { what: `${cfg}: ${results}`, actual: final ? actual.at(-1) : actual, expected: final ?? expected };
    }),
};
