import type { Clock } from "@/lib/platform/clock";

/** Collects calls and answers them together. */
export type Batcher<Item, Result> = {
  /** Resolves with this item's result, rejects with the batch's error. */
  push(item: Item): Promise<Result>;
  /** Resolves when nothing is waiting or in flight. */
  drained(): Promise<void>;
};

type Waiting<Item, Result> = { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void };

type BatcherOptions = {
  max: number;
  /**
   * After a batch of `items` or more, the next batch waits as long as that flush took, `msMax` at the most: about twice as
   * many items share its cost. A smaller batch says that few callers wait, and that they would wait for nothing.
   */
  rest?: { clock: Pick<Clock, "nowMs" | "sleep">; items: number; msMax: number };
};

/**
 * Group commit: the first item goes at once, and the items that come while it is in flight make the next batch. So a lone
 * item does not wait, and under load a batch grows to `max`. `flush` answers in the order of its items.
 */
export function createBatcher<Item, Result>(
  flush: (items: Item[]) => Promise<Result[]>,
  { max, rest }: BatcherOptions,
): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    // After one turn of the event loop: calls of the same turn make one batch.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, max);
      const startMs = rest?.clock.nowMs() ?? 0;
      waiting = waiting.slice(batch.length);
      try {
        const results = await flush(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      if (rest && batch.length >= rest.items && waiting.length < max) {
        await rest.clock.sleep(Math.min(rest.clock.nowMs() - startMs, rest.msMax));
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
