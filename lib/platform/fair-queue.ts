/** Runs `work` when it is its turn. Rejects as the work does. */
export type FairQueue = <Result>(asker: string, work: () => Promise<Result>) => Promise<Result>;

/**
 * One work at a time. Those who ask take turns, whatever the number of works that one of them has waiting; the works of one
 * go in their order.
 */
export function createFairQueue(): FairQueue {
  // In the order of their next turns: after a turn an asker goes to the end.
  const waiting = new Map<string, (() => void)[]>();
  let busy = false;

  function next(): void {
    const first = waiting.entries().next();
    if (first.done) {
      busy = false;
      return;
    }
    const [asker, [begin, ...rest]] = first.value;
    waiting.delete(asker);
    if (rest.length > 0) waiting.set(asker, rest);
    begin!();
  }

  return async (asker, work) => {
    if (busy) {
      await new Promise<void>((begin) => {
        waiting.set(asker, [...(waiting.get(asker) ?? []), begin]);
      });
    }
    busy = true;
    try {
      return await work();
    } finally {
      next();
    }
  };
}
