import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { merged, type Outcome, ROOT, runStages, type Stage, summaryOf } from "./stages.ts";
import { failedFiles, playwrightCounts, vitestCounts } from "./test-reports.ts";

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

describe("a repeat", () => {
  const failing = (...failures: string[]) => ({ passed: 5, failed: failures.length, skipped: 0, failures });
  const stage = (name: string, first: ReturnType<typeof failing>, again?: Stage["again"]): Stage => ({
    name,
    run: async () => first,
    again,
  });

  test("comes after all stages, and what passes there passes and is named", async () => {
    const begun: string[] = [];
    const outcomes = await runStages([
      stage("integration", failing("lib/a > waits\n    late", "lib/b > sends\n    wrong"), async () => {
        begun.push("again");
        return { ...failing("lib/b > sends\n    wrong again"), passed: 3 };
      }),
      {
        name: "journeys",
        run: async () => {
          begun.push("journeys");
          return failing();
        },
      },
    ]);
    expect(begun).toEqual(["journeys", "again"]);
    expect(outcomes[0]).toMatchObject({
      passed: 6,
      failed: 1,
      failures: ["lib/b > sends\n    wrong again"],
      repeats: ["lib/a > waits\n    late"],
    });
  });

  test("that cannot be made leaves the failures as they are", async () => {
    const outcomes = await runStages([
      stage("integration", failing("x"), async () => null),
      stage("types", failing("y")),
    ]);
    expect(outcomes.map(({ failed, repeats }) => [failed, repeats])).toEqual([
      [1, undefined],
      [1, undefined],
    ]);
  });

  test("in which another test of the file fails has failed", () => {
    expect(merged(failing("lib/a > waits"), failing("lib/a > reads"))).toMatchObject({
      passed: 5,
      failed: 1,
      failures: ["lib/a > reads"],
    });
  });
});

test("stages of one step run beside each other", async () => {
  const counts = { passed: 1, failed: 0, skipped: 0 };
  const gate = Promise.withResolvers<typeof counts>();
  const outcomes = await runStages([
    [
      { name: "waits", run: () => gate.promise },
      {
        name: "opens",
        run: async () => {
          gate.resolve(counts);
          return counts;
        },
      },
    ],
  ]);
  expect(outcomes.map(({ name }) => name)).toEqual(["waits", "opens"]);
});

test("the slowest files are listed, and those above the limit are marked", () => {
  const files = Array.from({ length: 12 }, (_, n) => ({ name: `lib/${n}.itest.ts`, seconds: n * 2 }));
  const text = summaryOf([outcome({ files, fileSecondsMax: 20 })]);
  expect(text).toContain("!  22.0 s  lib/11.itest.ts");
  expect(text).toContain("   20.0 s  lib/10.itest.ts");
  expect(text).not.toContain("lib/1.itest.ts");
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

  test("a journey is named with its error and its time", () => {
    const stats = { expected: 5, unexpected: 1, flaky: 0, skipped: 3 };
    const errors = [{ message: "Test timeout of 300000ms exceeded." }, { message: "Error: click\n\n  waiting for x" }];
    const spec = (title: string, status: string) => ({
      title,
      file: "phone.e2e.ts",
      tests: [
        { projectName: "phone", status, results: [{ errors: status === "expected" ? [] : errors, duration: 1_500 }] },
      ],
    });
    const inner = { title: "the list", specs: [spec("scrolls", "unexpected")] };
    const file = { title: "phone.e2e.ts", specs: [spec("opens", "expected")], suites: [inner] };
    const text = "    Test timeout of 300000ms exceeded.\n    Error: click\n      waiting for x";
    expect(playwrightCounts(JSON.stringify({ stats, suites: [file], errors: [] }))).toEqual({
      passed: 5,
      failed: 1,
      skipped: 3,
      failures: [`e2e/phone.e2e.ts > phone > the list > scrolls\n${text}`],
      files: [
        { name: "e2e/phone.e2e.ts > phone > opens", seconds: 1.5 },
        { name: "e2e/phone.e2e.ts > phone > the list > scrolls", seconds: 1.5 },
      ],
    });
  });

  test("the files to repeat are those with a failed test or hook, and none where an error has no file", () => {
    const failing = { status: "failed", message: "", assertionResults: [named("failed", "a")] };
    const passing = { name: join(ROOT, "lib/b.itest.ts"), status: "passed", assertionResults: [named("passed", "b")] };
    const both = report(failing, passing);
    const inHook = JSON.stringify([[join(ROOT, "lib/c.itest.ts"), "kafka", "no Java"]]);
    expect(failedFiles(both, inHook)).toEqual([join(ROOT, "lib/a.itest.ts"), join(ROOT, "lib/c.itest.ts")]);
    expect(failedFiles(both, JSON.stringify([["vitest", "an error that nobody handled", "x"]]))).toEqual([]);
    expect(failedFiles(null, null)).toEqual([]);
  });
});
