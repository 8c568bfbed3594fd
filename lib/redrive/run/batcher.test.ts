import { describe, expect, test } from "vitest";
import { createBatcher } from "@/lib/redrive/run/batcher";
import { manualClock } from "@/lib/testing/manual-clock";

/** A flush that waits until it is let go. */
function held() {
  const batches: { items: number[]; go: () => void; fail: (error: Error) => void }[] = [];
  const flush = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      batches.push({ items, go: () => resolve(items.map((item) => item * 10)), fail: reject });
    });
  return { batches, flush };
}

describe("a batcher", () => {
  test("sends a lone item at once and what comes meanwhile together, each with its own result", async () => {
    const { batches, flush } = held();
    const batcher = createBatcher(flush, { max: 3 });
    const first = batcher.push(1);
    await expect.poll(() => batches.length).toBe(1);
    const rest = [2, 3, 4, 5].map((item) => batcher.push(item));
    batches[0]!.go();
    expect(await first).toBe(10);
    await expect.poll(() => batches.length).toBe(2);
    batches[1]!.go();
    await expect.poll(() => batches.length).toBe(3);
    batches[2]!.go();
    expect(await Promise.all(rest)).toEqual([20, 30, 40, 50]);
    expect(batches.map((batch) => batch.items)).toEqual([[1], [2, 3, 4], [5]]);
  });

  test("rests after a large batch for as long as its flush took, never after a small one", async () => {
    const { batches, flush } = held();
    const clock = manualClock();
    const batcher = createBatcher(flush, { max: 10, rest: { clock, items: 2, msMax: 20 } });
    const first = [1, 2].map((item) => batcher.push(item));
    await expect.poll(() => batches.length).toBe(1);
    await clock.advance(8);
    const second = batcher.push(3);
    batches[0]!.go();
    await Promise.all(first);
    await clock.advance(7);
    expect(batches).toHaveLength(1);
    const third = batcher.push(4);
    await clock.advance(1);
    await expect.poll(() => batches.length).toBe(2);
    expect(batches[1]!.items).toEqual([3, 4]);
    await clock.advance(500);
    const fourth = batcher.push(5);
    batches[1]!.go();
    await Promise.all([second, third]);
    await clock.advance(20);
    await expect.poll(() => batches.length).toBe(3);
    const fifth = batcher.push(6);
    batches[2]!.go();
    await fourth;
    await expect.poll(() => batches.length).toBe(4);
    batches[3]!.go();
    await fifth;
  });

  test("a failed batch fails its own items only", async () => {
    const { batches, flush } = held();
    const batcher = createBatcher(flush, { max: 1 });
    const [first, second] = [batcher.push(1), batcher.push(2)];
    await expect.poll(() => batches.length).toBe(1);
    batches[0]!.fail(new Error("no store"));
    await expect(first).rejects.toThrow("no store");
    await expect.poll(() => batches.length).toBe(2);
    batches[1]!.go();
    expect(await second).toBe(20);
    await batcher.drained();
  });
});
