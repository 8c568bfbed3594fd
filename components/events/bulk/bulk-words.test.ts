import { expect, it } from "vitest";
import { mustType, operationTitle, shareWords } from "./bulk-words";

it("has a large or unknown number typed, and a small one not", () => {
  expect(mustType(1_000)).toBeNull();
  expect(mustType(1_001)).toBe("1001");
  expect(mustType(null)).toBe("all");
});

const running = {
  kind: "ignore" as const,
  state: "RUNNING" as const,
  changed: 7_000,
  refused: 500,
  expected: { value: 12_000, kind: "exact" as const },
  ratePerSecond: 1_239.7,
  etaMs: 8_200,
  approval: null,
};

it("does not exceed the whole when the estimate was too low, and says that it is one", () => {
  const estimated = { ...running, changed: 15_000, expected: { value: 12_345, kind: "estimated" as const } };
  expect(shareWords(estimated)).toBe("100%");
  expect(operationTitle(estimated)).toBe("Ignoring ≈ 12,000 events");
});
