/** Failures and slow calls among the last `size` results: the count-based window of a breaker. */
type OutcomeRing = {
  add(failed: boolean, slow: boolean): void;
  readonly calls: number;
  readonly failures: number;
  readonly slow: number;
  clear(): void;
};

const FAILED = 1;
const SLOW = 2;

/** @param size how many results are remembered (>= 1) */
export function outcomeRing(size: number): OutcomeRing {
  const cells = new Uint8Array(size);
  let calls = 0;
  let failures = 0;
  let slowCalls = 0;
  let next = 0;
  return {
    add(failed, slow) {
      const old = cells[next]!;
      if (old & FAILED) failures--;
      if (old & SLOW) slowCalls--;
      cells[next] = (failed ? FAILED : 0) | (slow ? SLOW : 0);
      if (failed) failures++;
      if (slow) slowCalls++;
      if (calls < size) calls++;
      next = (next + 1) % size;
    },
    get calls() {
      return calls;
    },
    get failures() {
      return failures;
    },
    get slow() {
      return slowCalls;
    },
    clear() {
      cells.fill(0);
      calls = failures = slowCalls = next = 0;
    },
  };
}
