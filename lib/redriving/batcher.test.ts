import { describe, expect, test } from "vitest";
import { createBatcher } from "@/lib/redriving/batcher";

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
