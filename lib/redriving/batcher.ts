/** Collects calls and answers them together. */
export type Batcher<Item, Result> = {
  /** Resolves with this item's result, rejects with the batch's error. */
  push(item: Item): Promise<Result>;
  /** Resolves when nothing is waiting or in flight. */
  drained(): Promise<void>;
};

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void };

/**
 * Group commit: the first item goes at once, and the items that come while it is in flight make the next batch. So a lone
 * item does not wait, and under load a batch grows to `max`. `flush` answers in the order of its items.
 */
export function createBatcher<Item, Result>(
  flush: (items: Item[]) => Promise<Result[]>,
  options: { max: number },
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // After one turn of the event loop: calls of the same turn make one batch.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, options.max);
      waiting = waiting.slice(batch.length);
      try {
        const results = await flush(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = null;
  }

  return {
    push: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        running ??= run();
      }),
    drained: async () => {
      while (running) await running;
    },
  };
}
