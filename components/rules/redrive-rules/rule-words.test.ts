import { expect, test } from "vitest";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { workWords } from "./rule-words";

test("the work of a rule counts what was sent apart from what its targets had already", () => {
  const outcomes = { delivered: 80, deduplicated: 2, confirmed: 77, failed: 3, bounced: 1 };
  expect(workWords({ lastDay: 83, outcomes } as RedriveRuleOut)).toBe(
    "83 events redriven in 24 hours; since it was switched on: 78 sent, 2 deduplicated, 77 confirmed, 3 failed, 1 bounced",
  );
  expect(workWords({ lastDay: 0, outcomes } as RedriveRuleOut)).toBeNull();
});
