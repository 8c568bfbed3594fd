import type { Backoff } from "@/lib/retry/backoff/backoff";
import type { Jitter } from "@/lib/retry/backoff/jitter";
import { meanContention } from "@/lib/retry/testing/contention";
import { seeded } from "@/lib/retry/testing/seeded";
import { type Cases, type Cell, type Check, eachRow } from "@/lib/retry/testing/vectors/vector";

/** The simulator counts failures from 1 in 2^n * base: its first delay is 10 ms. */
const exponential = (jitter: Jitter): Backoff => ({ kind: "exponential", baseMs: 10, factor: 2, capMs: 2_000, jitter });

/** The simulator's names for its algorithms, with base 5 ms and cap 2 s. */
export const CONTENTION_ALGORITHMS: Readonly<Record<string, Backoff>> = {
  None: { kind: "fixed", delayMs: 0, jitter: { kind: "none" } },
  Exponential: exponential({ kind: "none" }),
  EqualJitter: exponential({ kind: "equal" }),
  FullJitter: exponential({ kind: "full" }),
  Decorr: { kind: "exponential", baseMs: 5, factor: 2, capMs: 2_000, jitter: { kind: "decorrelated" } },
};

/** Means of 100 runs, as published. */
const RUNS = 100;
/** 190 clients cost more than they add. */
const CLIENTS_MAX = 100;

export const CONTENTION_CASES: Cases = {
  "backoff-091": (vector) => {
    const rows = vector.rows.filter(([clients]: Cell[]) => Number(clients) <= CLIENTS_MAX);
    const checks: Check[] = [];
    eachRow({ ...vector, rows }, ([clients, algorithm, completionMs, calls]) => {
      const backoff = CONTENTION_ALGORITHMS[String(algorithm)]!;
      const mean = meanContention({ clients: Number(clients), backoff, random: seeded(1) }, RUNS);
      const what = `${algorithm}, ${clients} clients`;
      checks.push(
        { what: `${what}: calls`, actual: mean.calls, expected: calls, tolerance: 0.1 * Number(calls) },
        {
          what: `${what}: ms`,
          actual: mean.completionMs,
          expected: completionMs,
          tolerance: 0.1 * Number(completionMs),
        },
      );
      return { actual: null, expected: null };
    });
    return checks;
  },
};
