import { expect, test } from "vitest";
import { createFairQueue } from "@/lib/platform/fair-queue";

test("those who ask take turns, and the works of one keep their order", async () => {
  const queue = createFairQueue();
  const order: string[] = [];
  const work = (asker: string, name: string) =>
    queue(asker, async () => {
      order.push(name);
    });
  await Promise.all([
    ...[1, 2, 3, 4].map((number) => work("ada", `ada ${number}`)),
    work("bob", "bob 1"),
    work("eve", "eve 1"),
    work("bob", "bob 2"),
  ]);
  expect(order).toEqual(["ada 1", "ada 2", "bob 1", "eve 1", "ada 3", "bob 2", "ada 4"]);
});

test("one work at a time, and one that fails holds up no other", async () => {
  const queue = createFairQueue();
  let running = 0;
  const work = (fails: boolean) =>
    queue("ada", async () => {
      expect(++running).toBe(1);
      await Promise.resolve();
      running--;
      if (fails) throw new Error("it failed");
      return "done";
    });
  const ends = await Promise.allSettled([work(false), work(true), work(false)]);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await work(false)).toBe("done");
});
