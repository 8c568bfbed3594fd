import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { JSONReport, JSONReportSuite } from "@playwright/test/reporter";
import { HOOK_REPORT, type HookFailure } from "./hook-failures.ts";
import { runTool } from "./run-tool.ts";
import { errorText } from "./start-error.ts";

export const ROOT = join(import.meta.dirname, "..");

type Counts = {
  passed: number;
  failed: number;
  skipped: number;
  note?: string;
  /** For each failed test its file, its name and the first lines of its errors; for a tool the end of its output. */
  failures?: string[];
  /** Tests that failed and passed when they were run once more. Each hides a fault. */
  repeats?: string[];
};

/** What one stage did. A stage without tests of its own (types, build) counts as nothing when it passes. */
export type Outcome = Counts & { name: string; seconds: number };

export type Stage = { name: string; run: () => Promise<Counts> };

const NONE = { passed: 0, failed: 0, skipped: 0 };
const TOOL_LINES = 40;
/** So many say what was expected, what was there and, of a journey, what it waited for. */
const ERROR_LINES = 8;
const LINE_CHARS = 300;
/** A stage in which everything fails must not push the other stages out of the end of the log. */
const FAILURES_SHOWN = 50;

/** A program whose exit code is the verdict; its output is shown when it fails. */
export function toolStage(name: string, args: string[], env?: Record<string, string>): Stage {
  return {
    name,
    run: async () => {
      const { code, output } = await runTool(process.execPath, args, { cwd: ROOT, env });
      if (code === 0) return NONE;
      process.stdout.write(`${output}\n`);
      return { ...NONE, failed: 1, note: `ended with code ${code}`, failures: [endOf(output)] };
    },
  };
}

/** Projects of vitest, in one run. Its JSON report is the count; a run that ended badly without a failed test counts as one failure. */
export function vitestStage(projects: string[], args: string[] = []): Stage {
  const project = projects.join(" and ");
  const report = join(ROOT, "reports", `vitest-${projects[0]}.json`);
  const hooks = join(ROOT, "reports", `vitest-${projects[0]}-hooks.json`);
  return {
    name: `${project} tests`,
    run: async () => {
      const reporters = [
        "--reporter=default",
        "--reporter=json",
        `--reporter=${join(import.meta.dirname, "hook-failures.ts")}`,
        `--outputFile.json=${report}`,
      ];
      rmSync(hooks, { force: true });
      const run = [
        bin("vitest/vitest.mjs"),
        "run",
        ...projects.flatMap((name) => ["--project", name]),
        ...reporters,
        ...args,
      ];
      const { code } = await runReporting(report, run, { [HOOK_REPORT]: hooks });
      const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : null);
      const counted = read(report);
      return verdict(code, counted === null ? null : vitestCounts(counted, read(hooks) ?? "[]"));
    },
  };
}

/** The browser journeys. */
export function playwrightStage(): Stage {
  const report = join(ROOT, "reports", "playwright.json");
  return {
    name: "journeys",
    run: async () => {
      const args = [bin("@playwright/test/cli.js"), "test", "--reporter=list,json"];
      const { code } = await runReporting(report, args, { PLAYWRIGHT_JSON_OUTPUT_FILE: report });
      return verdict(code, existsSync(report) ? playwrightCounts(readFileSync(report, "utf8")) : null);
    },
  };
}

export function sumOf(counts: Counts[]): Counts {
  const sum = (key: "passed" | "failed" | "skipped") => counts.reduce((total, one) => total + one[key], 0);
  const notes = counts.flatMap(({ note }) => note ?? []);
  return {
    passed: sum("passed"),
    failed: sum("failed"),
    skipped: sum("skipped"),
    note: notes.length > 0 ? notes.join("; ") : undefined,
    failures: counts.flatMap(({ failures = [] }) => failures),
    repeats: counts.flatMap(({ repeats = [] }) => repeats),
  };
}

/** Path of a program in a package, run by the Node that runs us: the shell's PATH may hold an older one. */
export function bin(path: string): string {
  return join(ROOT, "node_modules", path);
}

async function runReporting(report: string, args: string[], env?: Record<string, string>): Promise<{ code: number }> {
  mkdirSync(dirname(report), { recursive: true });
  // A run that dies early must not be counted by the report of the run before.
  rmSync(report, { force: true });
  return runTool(process.execPath, args, { cwd: ROOT, env, show: true });
}

export function vitestCounts(report: string, hooks = "[]"): Counts {
  type Test = { status: string; title: string; ancestorTitles: string[]; failureMessages: string[] };
  type File = { name: string; status: string; message: string; assertionResults: Test[] };
  const files = (JSON.parse(report) as { testResults: File[] }).testResults;
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })));
  const failed = tests.filter(isFailed);
  // A file that failed to load has no tests and would vanish from the count.
  const broken = files.filter((file) => isFailed(file) && !file.assertionResults.some(isFailed));
  const skipped = tests.filter((test) => test.status !== "passed" && !isFailed(test));
  const repeated = tests.filter((test) => test.status === "passed" && test.failureMessages.length > 0);
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
    repeats: repeated.map(textOf),
  };
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

/** The last lines of a tool's output, which name its verdict. */
export function endOf(output: string): string {
  const lines = stripVTControlCharacters(output).trimEnd().split("\n").slice(-TOOL_LINES);
  return lines.map((line) => `    ${line.slice(0, LINE_CHARS)}`).join("\n");
}

export function playwrightCounts(report: string): Counts {
  const { stats, suites, errors }: Pick<JSONReport, "stats" | "suites" | "errors"> = JSON.parse(report);
  const textsIn = (suite: JSONReportSuite, wanted: "unexpected" | "flaky", names: string[]): string[] => [
    ...suite.specs.flatMap((spec) =>
      spec.tests
        .filter(({ status }) => status === wanted)
        .map(({ projectName, results }) => {
          // A test that ran out of time has two errors, and only the second one says what it waited for.
          const found = results.find((result) => result.errors.length > 0)?.errors ?? [];
          const text = found.map(({ message = "" }) => message).join("\n");
          return failureText([`e2e/${spec.file}`, projectName, ...names, spec.title], text || undefined);
        }),
    ),
    ...(suite.suites ?? []).flatMap((inner) => textsIn(inner, wanted, [...names, inner.title])),
  ];
  return {
    passed: stats.expected + stats.flaky,
    failed: stats.unexpected,
    skipped: stats.skipped,
    failures: [
      ...errors.map(({ message }) => failureText(["journeys"], message)),
      ...suites.flatMap((file) => textsIn(file, "unexpected", [])),
    ],
    repeats: suites.flatMap((file) => textsIn(file, "flaky", [])),
  };
}

function verdict(code: number, counts: Counts | null): Counts {
  if (!counts) return { ...NONE, failed: 1, note: `ended with code ${code} and no report` };
  if (code !== 0 && counts.failed === 0) return { ...counts, failed: 1, note: `ended with code ${code}` };
  return counts;
}

/** Runs the stages in order, also after one that failed. */
export async function runStages(stages: Stage[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const stage of stages) outcomes.push(await runStage(stage));
  return outcomes;
}

async function runStage({ name, run }: Stage): Promise<Outcome> {
  console.log(`\n== ${name}`);
  const startedMs = performance.now();
  const outcome = await run().catch((error: unknown) => {
    console.error(error);
    return { ...NONE, failed: 1, note: "could not be run", failures: [endOf(errorText(error))] };
  });
  return { name, ...outcome, seconds: (performance.now() - startedMs) / 1000 };
}

/** The table, the failures, and as the last line `N passed, N failed` with `, N skipped` when there are any. */
export function summaryOf(outcomes: Outcome[]): string {
  const rows = outcomes.map(({ name, passed, failed, skipped, seconds, note }) => {
    const counts = `${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed ${String(skipped).padStart(4)} skipped`;
    const state = failed > 0 ? "FAILED" : "ok";
    return `${state.padEnd(7)}${name.padEnd(20)}${counts} ${seconds.toFixed(1).padStart(7)} s${note ? `  ${note}` : ""}`;
  });
  const shown = (title: string, key: "failures" | "repeats") =>
    outcomes.flatMap((outcome) => {
      const all = outcome[key] ?? [];
      if (all.length === 0) return [];
      const more = all.length - FAILURES_SHOWN;
      return [
        "",
        `${title} ${outcome.name}:`,
        ...all.slice(0, FAILURES_SHOWN),
        ...(more > 0 ? [`and ${more} more`] : []),
      ];
    });
  const lists = [...shown("Passed only when run again, in", "repeats"), ...shown("Failures of", "failures")];
  const { passed, failed, skipped } = sumOf(outcomes);
  return [...rows, ...lists, "", `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`].join(
    "\n",
  );
}
