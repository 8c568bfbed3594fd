import {
  above,
  between,
  checkFields,
  type Fields,
  integer,
  optional,
  orNull,
  type Rule,
  type Violation,
} from "@/lib/retry/check-fields";

import { delay, duration, TIMING } from "@/lib/retry/policy-timing";

export type { Violation } from "@/lib/retry/check-fields";

const ratio = above(0, 1);

const cost: Rule = { kind: "object", fields: { transient: above(0, 1e6), throttled: between(0, 1e6) } };

const BUDGET: Readonly<Record<string, Fields>> = {
  unlimited: {},
  ratio: {
    ratio: between(0, 1_000),
    windowMs: between(1_000, 60_000),
    floorPerSecond: between(0, 1e6),
    ceilingPerSecond: orNull(between(0, 1e6)),
    deposit: { kind: "choice", of: ["request", "success"] },
    cost,
  },
  quota: { capacity: between(0, 1e9), cost, reward: between(0, 1e6) },
  "in-flight": { ratio: between(0, 1), retriesMin: integer(0, 1e6) },
};

const rates: Fields = {
  callsMin: integer(1, 1e6),
  failureRatio: ratio,
  slowCallMs: orNull(duration),
  slowRatio: ratio,
};

const TRIP: Readonly<Record<string, Fields>> = {
  consecutive: { failures: integer(1, 1e6) },
  count: { size: integer(1, 100_000), ...rates },
  time: { windowMs: between(100, 3_600_000), ...rates },
};

const POLICY: Fields = {
  ...TIMING,
  budget: { kind: "variant", variants: BUDGET },
  breaker: {
    kind: "object",
    nullable: true,
    fields: {
      trip: { kind: "variant", variants: TRIP },
      openMs: duration,
      openMsMax: duration,
      probes: integer(1, 1_000),
      probeEveryMs: optional(delay),
      probeMsMax: duration,
    },
  },
  phases: { kind: "object", nullable: true, fields: { connectMs: duration, firstByteMs: duration } },
  dynamicTimeout: {
    kind: "object",
    nullable: true,
    fields: {
      quantile: between(0.5, 0.999),
      factor: between(1, 100),
      msMin: duration,
      samplesMin: integer(1, 1e6),
    },
  },
  hedge: { kind: "object", nullable: true, fields: { delayMs: delay, sendsMax: integer(2, 10) } },
  healing: {
    kind: "object",
    nullable: true,
    fields: {
      retryRatio: ratio,
      timeoutRatio: ratio,
      queueRatio: optional(orNull(above(0, 1_000))),
      callsMin: integer(1, 1e6),
      windowMs: between(1_000, 3_600_000),
      stepFactor: above(1, 10),
      stepsMax: integer(1, 10),
      quietRatio: ratio,
      cooldownMs: delay,
    },
  },
  stopOnOverload: optional({
    kind: "object",
    nullable: true,
    fields: { k: between(1, 100), windowMs: between(1_000, 600_000) },
  }),
};

/** Violations of shape and range, then of the relations between fields; the relations only once the shape is sound. */
export function checkPolicy(candidate: unknown): Violation[] {
  const violations = checkFields(candidate, POLICY);
  return violations.length > 0 ? violations : checkRelations(candidate as Related);
}

/** The fields that are compared with each other; their shape has been checked. */
type Related = {
  attemptTimeoutMs: number;
  deadlineMs: number;
  backoff: { kind: string; baseMs?: number; capMs?: number };
  throttledBackoff: { kind: string; baseMs?: number; capMs?: number } | null;
  breaker: {
    openMs: number;
    openMsMax: number;
    probeEveryMs?: number;
    probeMsMax: number;
    trip: { kind: string; size?: number; callsMin?: number; windowMs?: number };
  } | null;
  phases: { connectMs: number; firstByteMs: number } | null;
  dynamicTimeout: { msMin: number } | null;
};

function checkRelations(policy: Related): Violation[] {
  const { attemptTimeoutMs, deadlineMs, backoff, throttledBackoff, breaker, phases, dynamicTimeout } = policy;
  const whole = `attemptTimeoutMs (${attemptTimeoutMs})`;
  return [
    ...atMost("attemptTimeoutMs", attemptTimeoutMs, deadlineMs, `deadlineMs (${deadlineMs})`),
    ...atMost("backoff.baseMs", backoff.baseMs, backoff.capMs, `backoff.capMs (${backoff.capMs})`),
    ...atMost(
      "throttledBackoff.baseMs",
      throttledBackoff?.baseMs,
      throttledBackoff?.capMs,
      `throttledBackoff.capMs (${throttledBackoff?.capMs})`,
    ),
    ...atMost("breaker.openMs", breaker?.openMs, breaker?.openMsMax, `breaker.openMsMax (${breaker?.openMsMax})`),
    // A failed probe is followed by the open time: with a shorter one, more than one probe would pass in `probeEveryMs`.
    ...atMost("breaker.probeEveryMs", breaker?.probeEveryMs, breaker?.openMs, `breaker.openMs (${breaker?.openMs})`),
    ...atMost("breaker.trip.callsMin", breaker?.trip.callsMin, breaker?.trip.size, `trip.size (${breaker?.trip.size})`),
    // A probe that is declared lost before its own timeout would reopen the breaker on every slow probe.
    ...atLeast("breaker.probeMsMax", breaker?.probeMsMax, attemptTimeoutMs, whole),
    // A window shorter than two attempts forgets a failure before the next can join it. Source: .NET resilience.
    ...atLeast("breaker.trip.windowMs", breaker?.trip.windowMs, 2 * attemptTimeoutMs, `2 x ${whole}`),
    ...atMost(
      "phases.connectMs",
      phases?.connectMs,
      phases?.firstByteMs,
      `phases.firstByteMs (${phases?.firstByteMs})`,
    ),
    ...atMost("phases.firstByteMs", phases?.firstByteMs, attemptTimeoutMs, whole),
    ...atMost("dynamicTimeout.msMin", dynamicTimeout?.msMin, attemptTimeoutMs, whole),
  ];
}

/** An absent value on either side is another variant's field: nothing to compare. */
function atMost(field: string, value: number | undefined, limit: number | undefined, bound: string): Violation[] {
  return value !== undefined && limit !== undefined && value > limit ? [{ field, value, bound: `<= ${bound}` }] : [];
}

function atLeast(field: string, value: number | undefined, limit: number, bound: string): Violation[] {
  return value !== undefined && value < limit ? [{ field, value, bound: `>= ${bound}` }] : [];
}
