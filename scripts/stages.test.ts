import { describe, expect, test } from "vitest";
import { type Outcome, playwrightCounts, summaryOf, vitestCounts } from "./stages.ts";

const outcome = (facts: Partial<Outcome>): Outcome => ({
  name: "unit tests",
  passed: 0,
  failed: 0,
  skipped: 0,
  seconds: 1,
  ...facts,
});

describe("the last line of the summary", () => {
  const lastLine = (outcomes: Outcome[]) => summaryOf(outcomes).split("\n").at(-1);

  test("adds all stages", () => {
    expect(lastLine([outcome({ passed: 40 }), outcome({ passed: 2, failed: 1 })])).toBe("42 passed, 1 failed");
  });

  test("names skipped tests only when there are some", () => {
    expect(lastLine([outcome({ passed: 7, skipped: 3 })])).toBe("7 passed, 0 failed, 3 skipped");
  });
});

describe("counting", () => {
  test("a test file that does not load is a failure although it has no test", () => {
    const report = JSON.stringify({
      testResults: [
        { status: "failed", assertionResults: [] },
        {
          status: "passed",
          assertionResults: [
            { status: "passed", fullName: "a" },
            { status: "skipped", fullName: "b" },
            { status: "todo", fullName: "c" },
          ],
        },
      ],
    });
    expect(vitestCounts(report)).toEqual({ passed: 1, failed: 1, skipped: 2, skippedNames: ["b", "c"] });
  });

  test("a file with failed tests counts by its tests", () => {
    const assertionResults = [
      { status: "failed", fullName: "a" },
      { status: "failed", fullName: "b" },
    ];
    expect(vitestCounts(JSON.stringify({ testResults: [{ status: "failed", assertionResults }] }))).toMatchObject({
      passed: 0,
      failed: 2,
    });
  });

  test("a journey that passed at its second try has failed", () => {
    const stats = { expected: 5, unexpected: 1, flaky: 2, skipped: 3 };
    expect(playwrightCounts(JSON.stringify({ stats }))).toMatchObject({ passed: 5, failed: 3, skipped: 3 });
  });
});
