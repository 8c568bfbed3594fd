import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { endOf, type Outcome, playwrightCounts, ROOT, runStages, summaryOf, vitestCounts } from "./stages.ts";

const outcome = (facts: Partial<Outcome>): Outcome => ({
  name: "unit tests",
  passed: 0,
  failed: 0,
  skipped: 0,
  seconds: 1,
  ...facts,
});

test("stages run in their order, the next ones also after a failure", async () => {
  const begun: string[] = [];
  const stage = (name: string, work: () => Promise<void> | void) => ({
    name,
    run: async () => {
      begun.push(name);
      await work();
      return { passed: 1, failed: 0, skipped: 0 };
    },
  });
  const outcomes = await runStages([
    stage("types", () => Promise.reject(new Error("no answer"))),
    stage("journeys", () => undefined),
  ]);
  expect(begun).toEqual(["types", "journeys"]);
  expect(outcomes.map(({ name, failed }) => [name, failed])).toEqual([
    ["types", 1],
    ["journeys", 0],
  ]);
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

describe("the failures", () => {
  const failures = ["lib/a.itest.ts > sends\n    AssertionError: no", "lib/b.itest.ts > reads\n    Error: gone"];

  test("stand after the table, right before the last line", () => {
    const lines = summaryOf([outcome({ failed: 2, failures }), outcome({ name: "journeys", passed: 1 })]).split("\n");
    expect(lines.slice(2)).toEqual([
      "",
      "Failures of unit tests:",
      ...failures.join("\n").split("\n"),
      "",
      "1 passed, 2 failed",
    ]);
  });

  test("come after the tests that passed when they were run again", () => {
    const lines = summaryOf([outcome({ failed: 2, failures }), outcome({ repeats: ["lib/c.itest.ts > waits"] })]);
    expect(lines).toMatch(/Passed only when run again, in unit tests:\nlib\/c.itest.ts > waits\n\nFailures of/);
  });

  test("of one stage leave room for the next", () => {
    const many = Array.from({ length: 60 }, (_, n) => `test ${n}`);
    const text = summaryOf([outcome({ failed: 60, failures: many }), outcome({ failed: 1, failures: ["the other"] })]);
    expect(text).toContain("test 49\nand 10 more\n");
    expect(text).not.toContain("test 50");
    expect(text).toContain("\nthe other\n");
  });

  test("of a tool end with the end of its output, without colours", () => {
    const output = `${Array.from({ length: 100 }, (_, n) => `line ${n}`).join("\n")}\n\u001b[31mwrong\u001b[39m\n`;
    const lines = endOf(output).split("\n");
    expect(lines).toHaveLength(40);
    expect(lines.at(-1)).toBe("    wrong");
  });
});

describe("counting", () => {
  const report = (...testResults: object[]) =>
    JSON.stringify({ testResults: testResults.map((file) => ({ name: join(ROOT, "lib/a.itest.ts"), ...file })) });
  const named = (status: string, title: string, ...ancestorTitles: string[]) => ({
    status,
    title,
    ancestorTitles,
    failureMessages: status === "failed" ? ["\n\u001b[31mError\u001b[39m: broken\n    at a.ts:1"] : [],
  });

  test("a test file that does not load is a failure although it has no test", () => {
    const broken = { status: "failed", message: "SyntaxError: no\nmore", assertionResults: [] };
    const passed = { status: "passed", assertionResults: [named("passed", "a")] };
    expect(vitestCounts(report(broken, passed))).toMatchObject({
      passed: 1,
      failed: 1,
      failures: ["lib/a.itest.ts\n    SyntaxError: no\n    more"],
    });
  });

  test("a hook that fails is named with its suite, and its file has failed", () => {
    const file = { status: "failed", message: "", assertionResults: [named("skipped", "a", "kafka")] };
    const hooks = JSON.stringify([[join(ROOT, "lib/a.itest.ts"), "kafka", "kafka did not start:\nno Java"]]);
    expect(vitestCounts(report(file), hooks)).toMatchObject({
      failed: 1,
      skipped: 1,
      failures: ["lib/a.itest.ts > kafka\n    kafka did not start:\n    no Java"],
    });
  });

  test("a file with failed tests counts by its tests, each named with the first lines of its error", () => {
    const assertionResults = [named("failed", "reads", "broker", "fifo"), named("failed", "sends")];
    expect(vitestCounts(report({ status: "failed", assertionResults }))).toMatchObject({
      passed: 0,
      failed: 2,
      failures: [
        "lib/a.itest.ts > broker > fifo > reads\n    Error: broken\n        at a.ts:1",
        "lib/a.itest.ts > sends\n    Error: broken\n        at a.ts:1",
      ],
    });
  });

  test("a test that passed when it was run again is named with what failed at first", () => {
    const again = { ...named("passed", "waits"), failureMessages: ["Error: too late"] };
    expect(vitestCounts(report({ status: "passed", assertionResults: [again, named("passed", "b")] }))).toMatchObject({
      passed: 2,
      failed: 0,
      repeats: ["lib/a.itest.ts > waits\n    Error: too late"],
    });
  });

  test("skipped tests are counted by their suite", () => {
    const assertionResults = [
      named("skipped", "a", "http", "publishing"),
      named("todo", "b", "http"),
      named("skipped", "c"),
    ];
    expect(vitestCounts(report({ status: "passed", assertionResults }))).toMatchObject({
      skipped: 3,
      note: "skipped: 2 of http; 1 of lib/a.itest.ts",
    });
  });

  test("a journey that passed at its second try is named with what failed at first", () => {
    const stats = { expected: 5, unexpected: 1, flaky: 1, skipped: 3 };
    const errors = [{ message: "Test timeout of 300000ms exceeded." }, { message: "Error: click\n\n  waiting for x" }];
    const spec = (title: string, status: string) => ({
      title,
      file: "phone.e2e.ts",
      tests: [{ projectName: "phone", status, results: [{ errors }, { errors: [] }] }],
    });
    const inner = { title: "the list", specs: [spec("scrolls", "flaky")] };
    const file = {
      title: "phone.e2e.ts",
      specs: [spec("opens", "unexpected"), spec("x", "expected")],
      suites: [inner],
    };
    const text = "    Test timeout of 300000ms exceeded.\n    Error: click\n      waiting for x";
    expect(playwrightCounts(JSON.stringify({ stats, suites: [file], errors: [] }))).toEqual({
      passed: 6,
      failed: 1,
      skipped: 3,
      failures: [`e2e/phone.e2e.ts > phone > opens\n${text}`],
      repeats: [`e2e/phone.e2e.ts > phone > the list > scrolls\n${text}`],
    });
  });
});
