type Say = (line: string) => void;
type Step<T> = (signal: AbortSignal) => Promise<T>;

/** Says what is being done, and afterwards how long it took. */
export async function timed<T>(say: Say, doing: string, done: string, work: () => Promise<T>): Promise<T> {
  say(doing);
  const took = stopwatch();
  const outcome = await work();
  say(`${done} (${took()})`);
  return outcome;
}

/** Reads the time since this call. */
export function stopwatch(): () => string {
  const startedMs = performance.now();
  return () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}

/**
 * Runs both at once. When one fails it aborts the signal of the other, and then waits for it: what a step has brought up is known when
 * this rejects, and can be stopped.
 */
export async function sideBySide<A, B>(signal: AbortSignal, [first, second]: [Step<A>, Step<B>]): Promise<[A, B]> {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const run = <T>(step: Step<T>) =>
    step(both).catch((error: unknown) => {
      failed.abort(error);
      throw error;
    });
  const steps: [Promise<A>, Promise<B>] = [run(first), run(second)];
  await Promise.allSettled(steps);
  // Of two failures the first is the cause.
  failed.signal.throwIfAborted();
  return Promise.all(steps);
}
