import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { JSONReport, JSONReportSuite } from "@playwright/test/reporter";
import type { HookFailure } from "./hook-failures.ts";

const ROOT = join(import.meta.dirname, "..");

export type Counts = {
  passed: number;
  failed: number;
  skipped: number;
  note?: string;
  /** For each failed test its file, its name and the first lines of its errors; for a tool the end of its output. */
  failures?: string[];
  /** Tests that failed and passed when they were run once more. Each hides a fault. */
  repeats?: string[];
  /** How long each file took, or each journey. */
  files?: { name: string; seconds: number }[];
  fileSecondsMax?: number;
};

export const NONE: Counts = { passed: 0, failed: 0, skipped: 0 };

const TOOL_LINES = 40;
/** So many say what was expected, what was there and, of a journey, what it waited for. */
const ERROR_LINES = 8;
const LINE_CHARS = 300;

export function readReport(file: string): string | null {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

type Test = { status: string; title: string; ancestorTitles: string[]; failureMessages: string[] };
type File = {
  name: string;
  status: string;
  message: string;
  startTime: number;
  endTime: number;
  assertionResults: Test[];
};

function filesOf(report: string): File[] {
  return (JSON.parse(report) as { testResults: File[] }).testResults;
}

export function vitestCounts(report: string, hooks = "[]"): Counts {
  const files = filesOf(report);
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  const failed = tests.filter(isFailed);
  // A file that failed to load has no tests and would vanish from the count.
  const broken = files.filter((file) => isFailed(file) && !file.assertionResults.some(isFailed));
  const skipped = tests.filter((test) => test.status !== "passed" && !isFailed(test));
  const textOf = (test: (typeof tests)[number]) =>
    failureText([test.file, ...test.ancestorTitles, test.title], test.failureMessages[0]);
  return {
    passed: tests.length - failed.length - skipped.length,
    failed: failed.length + broken.length,
    skipped: skipped.length,
    note: skippedNote(skipped.map((test) => test.ancestorTitles[0] ?? relative(ROOT, test.file))),
    failures: [
      ...broken.filter(({ message }) => message !== "").map((file) => failureText([file.name], file.message)),
      ...(JSON.parse(hooks) as HookFailure[]).map(([file, suite, error]) => failureText([file, suite], error)),
      ...failed.map(textOf),
    ],
    files: files.map(({ name, startTime, endTime }) => ({
      name: relative(ROOT, name),
      seconds: (endTime - startTime) / 1000,
    })),
  };
}

/** The files of a vitest report in which a test or a hook failed; none where an error has no file. */
export function failedFiles(report: string | null, hooks: string | null): string[] {
  if (report === null) return [];
  const inHooks = (JSON.parse(hooks ?? "[]") as HookFailure[]).map(([file]) => file);
  if (inHooks.some((file) => !file.startsWith("/"))) return [];
  const inTests = filesOf(report).filter((file) => isFailed(file) || file.assertionResults.some(isFailed));
  return [...new Set([...inTests.map(({ name }) => name), ...inHooks])];
}

function isFailed({ status }: { status: string }): boolean {
  return status === "failed";
}

function skippedNote(suites: string[]): string | undefined {
  if (suites.length === 0) return undefined;
  const counts = [...new Set(suites)].map((suite) => `${suites.filter((one) => one === suite).length} of ${suite}`);
  return `skipped: ${counts.join("; ")}`;
}

function failureText([file, ...names]: [string, ...string[]], error = "no error was reported"): string {
  const lines = stripVTControlCharacters(error).split("\n");
  const shown = lines.filter((line) => line.trim() !== "").slice(0, ERROR_LINES);
  return [
    [file.startsWith("/") ? relative(ROOT, file) : file, ...names].join(" > "),
    ...shown.map((line) => `    ${line.slice(0, LINE_CHARS)}`),
  ].join("\n");
}

/** Of a failure's text: the file and the name of the test. */
export function firstLine(text: string): string {
  return text.split("\n", 1)[0]!;
}

/** The last lines of a tool's output, which name its result. */
export function endOf(output: string): string {
  const lines = stripVTControlCharacters(output).trimEnd().split("\n").slice(-TOOL_LINES);
  return lines.map((line) => `    ${line.slice(0, LINE_CHARS)}`).join("\n");
}

type Spec = { path: [string, ...string[]]; errors: { message?: string }[]; status: string; seconds: number };

export function playwrightCounts(report: string): Counts {
  const { stats, suites, errors }: Pick<JSONReport, "stats" | "suites" | "errors"> = JSON.parse(report);
  const specsIn = (suite: JSONReportSuite, names: string[]): Spec[] => [
    ...suite.specs.flatMap((spec) =>
      spec.tests.map(({ projectName, status, results }): Spec => {
        return {
          path: [`e2e/${spec.file}`, projectName, ...names, spec.title],
          // A test that ran out of time has two errors, and only the second one says what it waited for.
          errors: results.find((result) => result.errors.length > 0)?.errors ?? [],
          status,
          seconds: results.reduce((sum, { duration }) => sum + duration, 0) / 1000,
        };
      }),
    ),
    ...(suite.suites ?? []).flatMap((inner) => specsIn(inner, [...names, inner.title])),
  ];
  const specs = suites.flatMap((file) => specsIn(file, []));
  return {
    passed: stats.expected + stats.flaky,
    failed: stats.unexpected,
    skipped: stats.skipped,
    failures: [
      ...errors.map(({ message }) => failureText(["journeys"], message)),
      ...specs
        .filter(({ status }) => status === "unexpected")
        .map(({ path, errors: found }) =>
          failureText(path, found.map(({ message = "" }) => message).join("\n") || undefined),
        ),
    ],
    files: specs.map(({ path, seconds }) => ({ name: path.join(" > "), seconds })),
  };
}
