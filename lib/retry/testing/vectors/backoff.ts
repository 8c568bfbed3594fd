import {
  type Backoff,
  backoffMs,
  backoffMsMax,
  backoffMsMin,
  decorrelatedMs,
  plainMs,
} from "@/lib/retry/backoff/backoff";
import { type Jitter, spread } from "@/lib/retry/backoff/jitter";
import { type Case, type Cases, eachRow, sameFor } from "@/lib/retry/testing/vectors/vector";

const NONE: Jitter = { kind: "none" };

function doubling(baseMs: number, capMs: number, jitter: Jitter = NONE): Backoff {
  return { kind: "exponential", baseMs, factor: 2, capMs, jitter };
}

function delays(backoff: Backoff, count: number): number[] {
  return Array.from({ length: count }, (_, index) => plainMs(backoff, index + 1));
}

/** Envoy draws an integer and takes it modulo the interval; as a fraction of the interval it is our full jitter. */
const envoy: Case = ({ params, expect }) => [
  {
    what: "delays",
    actual: expect.map((_: number, index: number) => {
      const interval = plainMs(doubling(params.base, params.max), index + 1);
      return Math.round(spread(interval, { kind: "full" }, () => (params.random % interval) / interval));
    }),
    expected: expect,
  },
];

const RANGES: Record<string, Jitter> = {
  full: { kind: "full" },
  equal: { kind: "equal" },
  "bullmq jitter=.5": { kind: "equal" },
  grpc: { kind: "fraction", fraction: 0.2 },
  "polly-constant": { kind: "fraction", fraction: 0.25 },
};

function range(mode: string, index: number): [number, number] {
  const previous = /^decorrelated\(prev=(\d+)\)$/.exec(mode)?.[1];
  if (previous !== undefined) {
    const backoff = { kind: "exponential", baseMs: 100, factor: 2, capMs: 1000 } as const;
    return [decorrelatedMs(backoff, Number(previous), () => 0), decorrelatedMs(backoff, Number(previous), () => 1)];
  }
  const backoff = doubling(100, 1000, RANGES[mode]!);
  return [backoffMsMin(backoff, index + 1), backoffMsMax(backoff, index + 1)];
}

export const BACKOFF_CASES: Cases = {
  ...sameFor(["backoff-079", "backoff-080"], envoy),
  "backoff-083": ({ params, expect }) => [
    { what: "delays", actual: delays(doubling(params.baseMs, params.capMs), expect.length), expected: expect },
  ],
  "backoff-084": (vector) =>
    eachRow(vector, ([attempt, delayMs]) => ({
      actual: plainMs(doubling(100, 100_000), Number(attempt)),
      expected: delayMs,
    })),
  "backoff-086": (vector) =>
    eachRow(vector, ([baseS, index, rand, delayS]) => {
      const jitter: Jitter = { kind: "fraction", fraction: 0.25 };
      const backoff: Backoff = { kind: "linear", baseMs: Number(baseS), capMs: 1_000, jitter };
      const actual = backoffMs(backoff, Number(index) + 1, null, () => Number(rand));
      return { actual, expected: delayS, tolerance: 1e-12 };
    }),
  "backoff-087": (vector) =>
    eachRow(vector, ([baseS, index, maxS, delayS]) => ({
      actual: plainMs(
        doubling(Number(baseS), maxS === null ? Number.POSITIVE_INFINITY : Number(maxS)),
        Number(index) + 1,
      ),
      expected: delayS,
    })),
  "backoff-088": (vector) =>
    eachRow(vector, ([mode, index, minMs, maxMs]) => ({
      actual: range(String(mode), Number(index)),
      expected: [minMs, maxMs],
    })),
  "aws-standard-018": ({ params, expect_s }) => [
    {
      what: "delays",
      actual: delays(doubling(params.baseMs, params.capMs), expect_s.length).map((ms) => ms / 1000),
      expected: expect_s,
    },
  ],
  "aws-standard-019": (vector) =>
    eachRow(vector, ([initialS, index, delayS]) => ({
      actual: plainMs(doubling(Number(initialS), Number.POSITIVE_INFINITY), Number(index) + 1),
      expected: delayS,
    })),
};
