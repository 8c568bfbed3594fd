import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { statusOf } from "./status";

/** Answers after this many milliseconds, on a clock where shorter sleeps end first. */
function slowParts(answerMs: number) {
  const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms / 100));
  return {
    db: { query: () => after(answerMs).then(() => Promise.reject(new Error("not asked for here"))) },
    lane: { backend: "postgres", ping: () => after(answerMs) },
    clock: { sleep: (ms: number) => after(ms) },
  } as unknown as Parameters<typeof statusOf>[0];
}

test.each([
  [1_100, true],
  [3_000, true],
  [6_000, false],
])("a part that answers after %i ms counts as well: %s", async (answerMs, ok) => {
  const { queue } = await statusOf(slowParts(answerMs), localViewer("ada"), Date.now());
  expect(queue.ok).toBe(ok);
});
