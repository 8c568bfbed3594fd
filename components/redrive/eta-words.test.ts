import { describe, expect, it } from "vitest";
import { paceWords, spanWords, stallWords } from "@/components/redrive/eta-words";

describe("time a redrive takes", () => {
  it.each([
    [0, "1 s"],
    [400, "1 s"],
    [40_000, "40 s"],
    [59_600, "1 min"],
    [90_000, "1 min 30 s"],
    [2_460_000, "41 min"],
    [59.7 * 60_000, "1 h"],
    [3 * 3_600_000 + 20 * 60_000, "3 h 20 min"],
    [3_600_000 * 9 + 59.8 * 60_000, "10 h"],
    [3_600_000 * 23.8, "1 d"],
    [3_600_000 * 14.2, "14 h"],
    [86_400_000 * 2 + 3_600_000 * 4, "2 d 4 h"],
    [86_400_000 * 400, "400 d"],
  ])("reads %s ms as %s", (ms, words) => {
    expect(spanWords(ms)).toBe(words);
  });

  it("promises no end while nothing moves", () => {
    expect(paceWords(4.9, 918_000)).toBe("4.9/s · about 15 min left");
    expect(paceWords(0, 200)).toBe("nothing sent in the last 30 s");
    expect(paceWords(null, 918_000)).toBe("starting");
  });

  it("says what a redrive waits for and how long, and an end only when the wait passes by itself", () => {
    const nowMs = Date.UTC(2026, 10, 20, 14);
    const stalled = { text: "", until: new Date(nowMs + 9_000).toISOString(), target: null, redriveId: null };
    const words = (code: "canary-waits" | "breaker-open" | "no-worker", until: string | null = stalled.until) =>
      stallWords({ ...stalled, code, until }, 660_000, nowMs);
    expect(words("canary-waits")).toBe("canary waits 9 s · about 11 min left");
    expect(words("breaker-open")).toBe("the breaker is open 9 s");
    expect(words("no-worker", null)).toBe("no worker is running");
    expect(stallWords({ ...stalled, code: "canary-waits" }, null, 0)).toBe("canary waits");
  });
});
